// The values that --scheme takes, and its errors for wrong ones.
#include "scheme_arguments.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ddpsim/formats/usage_error.hpp"

using namespace ddpsim;

namespace {

/// Returns the error; empty if there is none.
std::string scheme_complaint(const std::string& text) {
  try {
    parse_scheme(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

std::string value_of(const Scheme& scheme, const std::string& key) {
  for (const auto& [name, value] : options_of(scheme))
    if (name == key) return value;
  return "absent";
}

/// Returns a scheme as --scheme takes it.
std::string written(const Scheme& scheme) {
  std::string text(name_of(scheme));
  char before = ':';
  for (const auto& [name, value] : options_of(scheme)) {
    text += fmt::format("{}{}={}", before, name, value);
    before = ',';
  }
  return text;
}

}  // namespace

TEST_CASE("--scheme: a name without options is that scheme with the defaults of its library") {
  CHECK(parse_scheme("ddp") == Scheme(Ddp()));
  CHECK(parse_scheme("naive") == Scheme(NaiveAllReduce()));
  CHECK(parse_scheme("fsdp1") == Scheme(Fsdp1()));
  CHECK(parse_scheme("fsdp2") == Scheme(Fsdp2()));
  CHECK(parse_scheme("zero1") == Scheme(Zero{.stage = 1}));
  CHECK(parse_scheme("zero2") == Scheme(Zero{.stage = 2}));
  CHECK(parse_scheme("zero3") == Scheme(Zero{.stage = 3}));
  CHECK(parse_scheme("megatron") == Scheme(MegatronOptimizer()));
  CHECK(parse_scheme("zero_redundancy") == Scheme(ZeroRedundancy()));
  CHECK(parse_scheme("data_parallel") == Scheme(DataParallel()));
  CHECK(parse_scheme("parameter_server") == Scheme(ParameterServer()));
  CHECK(parse_scheme("compiled") == Scheme(Compiled()));
  CHECK(parse_scheme("local_sgd") == Scheme(PeriodicAveraging()));
  CHECK(parse_scheme("slowmo") == Scheme(SlowMo()));
}

TEST_CASE("--scheme: every option sets its value in the scheme") {
  CHECK(parse_scheme("naive:when=backward,flat=true") ==
        Scheme(NaiveAllReduce{.when = NaiveAllReduce::When::backward, .flat = true}));
  CHECK(parse_scheme("fsdp1:strategy=hybrid_shard_zero2,wrap=size,min_num_params=1000,group=4,"
                     "backward_prefetch=none,forward_prefetch=true,limit_all_gathers=false,"
                     "use_orig_params=true,param_dtype=bf16,reduce_dtype=fp32,no_sync=false") ==
        Scheme(Fsdp1{.strategy = ShardingStrategy::hybrid_shard_zero2,
                     .wrap = {.by = WrapPolicy::By::size, .min_num_params = 1000},
                     .group = 4,
                     .backward_prefetch = BackwardPrefetch::none,
                     .forward_prefetch = true,
                     .limit_all_gathers = false,
                     .use_orig_params = true,
                     .param_dtype = Dtype::bfloat16,
                     .reduce_dtype = Dtype::float32,
                     .no_sync = false}));
  CHECK(parse_scheme("fsdp2:reshard_after_forward=false,reshard_root=true,wrap=layers.*+head,group="
                     "8,param_dtype=float16,reduce_dtype=parameters,no_sync=false") ==
        Scheme(Fsdp2{.reshard_after_forward = false,
                     .reshard_root = true,
                     .wrap = {.by = WrapPolicy::By::modules, .modules = {"layers.*", "head"}},
                     .group = 8,
                     .param_dtype = Dtype::float16,
                     .own_types = true,
                     .no_sync = false}));
  CHECK(parse_scheme("fsdp2:reshard_after_forward=8") == Scheme(Fsdp2{.reshard_to = 8}));
  CHECK(parse_scheme("zero3:reduce_bucket_size=5e8,stage3_prefetch_bucket_size=0,"
                     "stage3_param_persistence_threshold=0,overlap_comm=false") ==
        Scheme(Zero{.stage = 3,
                    .reduce_bucket_size = 500'000'000,
                    .overlap_comm = false,
                    .stage3_prefetch_bucket_size = 0,
                    .stage3_param_persistence_threshold = 0}));
  CHECK(parse_scheme("zero_redundancy:overlap_with_ddp=true") ==
        Scheme(ZeroRedundancy{.overlap_with_ddp = true}));
  CHECK(parse_scheme("fsdp1:cpu_offload=true,fused=true,cpu_rate=30,pcie=22.05") ==
        Scheme(Fsdp1{.offload = {.optimizer = true,
                                 .parameters = true,
                                 .fused = true,
                                 .cpu_rate = Bandwidth::gigabytes_per_second(30),
                                 .cpu_rate_assumed = false,
                                 .pcie = Bandwidth::gigabytes_per_second(22.05)}}));
  CHECK(parse_scheme("zero2:offload_optimizer=cpu") ==
        Scheme(Zero{.offload = {.optimizer = true, .fused = true, .cpu_rate = kShareOfHost}}));
  CHECK(parse_scheme("megatron:overlap_grad_reduce=true,bucket_size=40000000") ==
        Scheme(MegatronOptimizer{.overlap_grad_reduce = true, .bucket_size = 40'000'000}));
  CHECK(parse_scheme("data_parallel:input_mb=38.5,output_mb=0.256") ==
        Scheme(DataParallel{.inputs = Bytes(38'500'000), .outputs = Bytes(256'000)}));
  CHECK(parse_scheme("parameter_server:mode=async,servers=3,placement=partitioned,partition_mb=1,"
                     "update=worker,pull=priority,colocated=false,server_bandwidth=2.5") ==
        Scheme(ParameterServer{.mode = ParameterServer::Mode::async,
                               .servers = 3,
                               .placement = ParameterServer::Placement::partitioned,
                               .partition = Bytes(1'000'000),
                               .update = ParameterServer::Update::worker,
                               .pull = ParameterServer::Pull::priority,
                               .colocated = false,
                               .server_bandwidth = Bandwidth::gigabytes_per_second(2.5)}));
  CHECK(parse_scheme("parameter_server:servers=host") == Scheme(ParameterServer{.host = true}));
  CHECK(parse_scheme("compiled:optimize_ddp=ddp_optimizer") == Scheme(Compiled()));
  CHECK(parse_scheme("compiled:optimize_ddp=no_optimization") ==
        Scheme(Compiled{.optimize_ddp = OptimizeDdp::no_optimization}));
  CHECK(parse_scheme("compiled:optimize_ddp=python_reducer") ==
        Scheme(Compiled{.optimize_ddp = OptimizeDdp::python_reducer}));
  CHECK(parse_scheme("local_sgd:period=16") == Scheme(PeriodicAveraging{.period = 16}));
  CHECK(parse_scheme("local_sgd:hierarchy=2:4+4:8+8:16") ==
        Scheme(PeriodicAveraging{.hierarchy = {{2, 4}, {4, 8}, {8, 16}}}));
  CHECK(
      parse_scheme("slowmo:localsgd_frequency=5,slowmo_frequency=50,slowmo_memory_efficient=false,"
                   "slowmo_num_shards=4") == Scheme(SlowMo{.localsgd_frequency = 5,
                                                           .slowmo_frequency = 50,
                                                           .slowmo_memory_efficient = false,
                                                           .slowmo_num_shards = 4}));
}

TEST_CASE("--scheme: options are printed as they are typed") {
  for (const char* text :
       {"naive:when=backward",
        "fsdp1",
        "fsdp1:strategy=no_shard,wrap=none",
        "fsdp1:strategy=hybrid_shard,group=4,backward_prefetch=post,param_dtype=bf16",
        "fsdp1:wrap=size,min_num_params=7,reduce_dtype=fp16",
        "fsdp2:reshard_after_forward=8",
        "fsdp2:reshard_after_forward=false,reshard_root=true,wrap=a.*.b+c",
        "zero2",
        "zero3",
        "zero1:overlap_comm=true,reduce_bucket_size=7",
        "zero3:offload_optimizer=cpu,offload_param=cpu,cpu_rate=12.5",
        "fsdp1:cpu_offload=true,pcie=3",
        "zero_redundancy:overlap_with_ddp=true",
        "megatron:bucket_size=3",
        "zero_redundancy:parameters_as_bucket_view=true",
        "data_parallel:output_mb=0.3",
        "parameter_server",
        "parameter_server:servers=host,pull=forward",
        "parameter_server:servers=2,colocated=false,placement=partitioned,server_bandwidth=0.1",
        "compiled",
        "compiled:optimize_ddp=python_reducer",
        "local_sgd",
        "local_sgd:hierarchy=2:4+4:8",
        "slowmo",
        "slowmo:slowmo_memory_efficient=false"}) {
    const std::string once = written(parse_scheme(text));
    CAPTURE(once);
    CHECK(written(parse_scheme(once)) == once);
  }
  // The reduce type is the compute type unless stated.
  CHECK(value_of(parse_scheme("fsdp2:param_dtype=bf16"), "reduce_dtype") == "bfloat16");
  CHECK(value_of(parse_scheme("fsdp2"), "reduce_dtype") == "parameters");
}

TEST_CASE("--scheme: an unknown name is refused with the nearest one") {
  CHECK(scheme_complaint("fsdp3") ==
        "--scheme: name: \"fsdp3\" is not one of ddp, naive, fsdp1, fsdp2, replicate, zero1, "
        "zero2, zero3, "
        "megatron, zero_redundancy, data_parallel, parameter_server, compiled, local_sgd, slowmo. "
        "Did you "
        "mean \"fsdp1\"?");
  CHECK(scheme_complaint("") != "");
  CHECK(scheme_complaint(":wrap=none") != "");
  CHECK(scheme_complaint("FSDP1") != "");
  CHECK(scheme_complaint("fsdp1 ") != "");
}

TEST_CASE("--scheme: an unknown key, a missing value and a key given twice are refused") {
  CHECK(scheme_complaint("fsdp1:wrapp=none").find("Did you mean \"wrap\"?") != std::string::npos);
  CHECK(scheme_complaint("fsdp2:strategy=full_shard")
            .starts_with("--scheme: fsdp2: \"strategy\" is not one of"));
  CHECK(scheme_complaint("zero2:wrap=none").starts_with("--scheme: zero2: \"wrap\" is not one of"));
  CHECK(scheme_complaint("ddp:wrap=none") ==
        "--scheme: ddp takes no options here; DDP's options are options of the command");
  CHECK(scheme_complaint("ddp:") ==
        "--scheme: ddp takes no options here; DDP's options are options of the command");
  CHECK(scheme_complaint("fsdp1:wrap") ==
        "--scheme: wrap: the value is missing; expected wrap=VALUE");
  CHECK(scheme_complaint("fsdp1:wrap=") ==
        "--scheme: wrap: the value is missing; expected wrap=VALUE");
  CHECK(scheme_complaint("fsdp1:group=2,group=2") == "--scheme: group is given twice");
  CHECK(scheme_complaint("fsdp1:") != "");
  CHECK(scheme_complaint("fsdp1:group=2,") != "");
  CHECK(scheme_complaint("fsdp1:,group=2") != "");
  CHECK(scheme_complaint("fsdp1:=2") != "");
}

TEST_CASE("--scheme: wrong values of a key are refused") {
  CHECK(scheme_complaint("naive:when=never") ==
        "--scheme: when: \"never\" is not one of gradient, backward");
  CHECK(scheme_complaint("naive:flat=yes") == "--scheme: flat: \"yes\" is not one of true, false");
  CHECK(scheme_complaint("fsdp1:strategy=full").find("Did you mean \"full_shard\"?") !=
        std::string::npos);
  CHECK(scheme_complaint("fsdp1:backward_prefetch=before") ==
        "--scheme: backward_prefetch: \"before\" is not one of pre, post, none");
  CHECK(scheme_complaint("fsdp1:param_dtype=int8")
            .starts_with("--scheme: param_dtype: \"int8\" is not one of bf16"));
  CHECK(scheme_complaint("fsdp1:wrap=+a") ==
        "--scheme: wrap: expected blocks, none, leaves, size, or module paths such as "
        "layers.*+head");
  CHECK(scheme_complaint("fsdp1:wrap=a+") != "");
  CHECK(scheme_complaint("fsdp1:wrap=a++b") != "");
  const std::string whole = "expected a whole number from 1 to 1e+06, not ";
  for (const char* value :
       {"0", "-1", "1.5", "two", "1e7", "nan", "inf", "4x", "0x4", "99999999999999999999"}) {
    CAPTURE(value);
    CHECK(scheme_complaint(fmt::format("fsdp1:group={}", value)) ==
          fmt::format("--scheme: group: {}\"{}\"", whole, value));
  }
  CHECK(scheme_complaint("fsdp2:reshard_after_forward=1") ==
        "--scheme: reshard_after_forward: expected a whole number from 2 to 1e+06, not \"1\"");
  CHECK(scheme_complaint("fsdp1:min_num_params=0")
            .starts_with("--scheme: min_num_params: expected a whole number from 1"));
  CHECK(scheme_complaint("zero1:reduce_bucket_size=1e16") != "");
  CHECK(scheme_complaint("zero2:deepspeed=0.16.9") == "");
  CHECK(mentions(scheme_complaint("zero2:deepspeed=0.13.5"), "from 0.14.0 on"));
  CHECK(scheme_complaint("zero2:deepspeed=newest") != "");
  CHECK(scheme_complaint("zero1:reduce_bucket_size=1e15") == "");
  CHECK(scheme_complaint("zero3:stage3_prefetch_bucket_size=-1") != "");
  CHECK(scheme_complaint("megatron:bucket_size=0") != "");
  CHECK(scheme_complaint("data_parallel:output_mb=-1") ==
        "--scheme: output_mb: expected megabytes from 0 to 1e+06, not \"-1\"");
  CHECK(scheme_complaint("parameter_server:partition_mb=0") ==
        "--scheme: partition_mb: expected megabytes from 0.001 to 1e+06, not \"0\"");
  for (const char* value : {"0", "nan", "inf", "-8", "8GB"}) {
    CAPTURE(value);
    CHECK(scheme_complaint(fmt::format("parameter_server:server_bandwidth={}", value)) ==
          fmt::format("--scheme: server_bandwidth: expected GB/s from 0.001 to 1e+06, not \"{}\"",
                      value));
  }
  CHECK(scheme_complaint("parameter_server:servers=0")
            .starts_with("--scheme: servers: expected a whole number from 1"));
  CHECK(scheme_complaint("parameter_server:servers=hosts") != "");
  CHECK(scheme_complaint("parameter_server:mode=both") ==
        "--scheme: mode: \"both\" is not one of sync, async");
  CHECK(scheme_complaint("compiled:optimize_ddp=ddp_optimiser") ==
        "--scheme: optimize_ddp: \"ddp_optimiser\" is not one of ddp_optimizer, no_optimization, "
        "python_reducer. Did you mean \"ddp_optimizer\"?");
  CHECK(scheme_complaint("compiled:optimize_ddp=python_reducer_without_compiled_forward") != "");
  CHECK(scheme_complaint("local_sgd:period=0") == fmt::format("--scheme: period: {}\"0\"", whole));
  for (const char* value : {"4", "4:", ":4", "4:8+", "+4:8", "4:8:16", "4:8+16"}) {
    CAPTURE(value);
    CHECK(scheme_complaint(fmt::format("local_sgd:hierarchy={}", value)) != "");
  }
  CHECK(scheme_complaint("local_sgd:hierarchy=4") ==
        "--scheme: hierarchy: expected PERIOD:RANKS, several joined by '+' as in 4:8+16:16, "
        "not \"4\"");
  CHECK(scheme_complaint("local_sgd:hierarchy=2:4,period=4") ==
        "--scheme: local_sgd: hierarchy states periods itself. Leave out period");
  CHECK(scheme_complaint("slowmo:slowmo_frequency=0") != "");
}

TEST_CASE("--scheme: the last number that a key takes and the first that it refuses") {
  struct Border {
    const char* key;
    std::vector<std::string> taken, refused;
  };
  const std::vector<std::string> ranks{"1", "1000000"}, no_ranks{"0", "1000001"};
  const std::vector<std::string> least_one{"1", "1e15"}, least_none{"0", "1e15"};
  const std::vector<std::string> not_one{"0", "1000000000000001"}, not_none{"-1", "1.1e15"};
  const std::vector<std::string> rate{"0.001", "1e6"}, no_rate{"0.000999", "1000001"};
  for (const Border& border :
       {Border{"fsdp1:group", ranks, no_ranks},
        {"fsdp2:group", ranks, no_ranks},
        {"fsdp2:reshard_after_forward", {"2", "1000000"}, {"1", "1000001"}},
        {"fsdp1:min_num_params", least_one, not_one},
        {"fsdp2:min_num_params", least_one, not_one},
        {"zero3:min_num_params", least_one, not_one},
        {"zero1:reduce_bucket_size", least_one, not_one},
        {"zero2:allgather_bucket_size", least_one, not_one},
        {"zero3:stage3_prefetch_bucket_size", least_none, not_none},
        {"zero3:stage3_param_persistence_threshold", least_none, not_none},
        {"zero3:stage3_max_live_parameters", least_none, not_none},
        {"zero3:stage3_max_reuse_distance", least_none, not_none},
        {"zero3:zero_hpz_partition_size", ranks, no_ranks},
        {"megatron:bucket_size", least_one, not_one},
        {"data_parallel:input_mb", {"0", "1e6"}, {"-0.001", "1000000.1"}},
        {"data_parallel:output_mb", {"0", "1e6"}, {"-0.001", "1000000.1"}},
        {"parameter_server:servers", ranks, no_ranks},
        {"parameter_server:partition_mb", rate, no_rate},
        {"parameter_server:server_bandwidth", rate, no_rate},
        {"fsdp1:cpu_offload=true,cpu_rate", rate, no_rate},
        {"zero2:offload_optimizer=cpu,pcie", rate, no_rate},
        {"local_sgd:period", ranks, no_ranks},
        {"local_sgd:hierarchy", {"1:1", "1000000:1000000"}, {"0:1", "1:0", "1000001:1"}},
        {"slowmo:localsgd_frequency", ranks, no_ranks},
        {"slowmo:slowmo_frequency", ranks, no_ranks},
        {"slowmo:slowmo_num_shards", ranks, no_ranks}}) {
    CAPTURE(border.key);
    for (const std::string& value : border.taken) {
      CAPTURE(value);
      CHECK(scheme_complaint(fmt::format("{}={}", border.key, value)) == "");
    }
    for (const std::string& value : border.refused) {
      CAPTURE(value);
      CHECK(scheme_complaint(fmt::format("{}={}", border.key, value)) != "");
    }
  }
}

TEST_CASE("--scheme: rates of a host need something that is kept on the host") {
  CHECK(scheme_complaint("fsdp1:pcie=20") ==
        "--scheme: pcie: nothing is kept on the host without cpu_offload=true");
  CHECK(scheme_complaint("zero2:pcie=20") ==
        "--scheme: pcie: nothing is kept on the host without offload_optimizer=cpu");
  CHECK(scheme_complaint("zero3:pcie=20") ==
        "--scheme: pcie: nothing is kept on the host without offload_optimizer=cpu or "
        "offload_param=cpu");
  CHECK(scheme_complaint("zero3:pcie=20,offload_param=cpu") == "");
  CHECK(scheme_complaint("zero3:cpu_rate=20,offload_param=cpu") ==
        "--scheme: cpu_rate: the optimizer does not run on the host without offload_optimizer=cpu");
  CHECK(scheme_complaint("fsdp2:fused=true") ==
        "--scheme: fused: the optimizer does not run on the host without cpu_offload=true");
  CHECK(scheme_complaint("fsdp2:fused=true,cpu_offload=true") == "");
}

TEST_CASE("--scheme: a scheme states the groups of ranks that it needs") {
  const auto groups = [](const char* text) { return groups_of(parse_scheme(text), 8); };
  CHECK(groups("ddp").empty());
  CHECK(groups("fsdp1").empty());
  CHECK(groups("fsdp1:group=4").empty());  // only for hybrids
  CHECK(groups("fsdp1:strategy=hybrid_shard") == std::vector<int>{8});
  CHECK(groups("fsdp1:strategy=hybrid_shard_zero2,group=4") == std::vector<int>{4});
  CHECK(groups("fsdp2").empty());
  CHECK(groups("fsdp2:group=4,reshard_after_forward=2") == std::vector<int>{4, 2});
  CHECK(groups("zero3:zero_hpz_partition_size=8") == std::vector<int>{8});
  CHECK(groups("zero2").empty());
  CHECK(groups("data_parallel").empty());
  CHECK(groups("parameter_server") == std::vector<int>{8});  // the GPUs of a worker
  CHECK(groups("parameter_server:servers=host").empty());
  CHECK(groups("compiled").empty());
  CHECK(groups("local_sgd").empty());
  CHECK(groups("local_sgd:hierarchy=2:4+4:8+8:16") == std::vector<int>{4, 8});
  CHECK(groups("slowmo") == std::vector<int>{8});
}
