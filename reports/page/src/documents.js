// What the program writes (docs/formats.md, Results and Report), as far as the page reads it. Times are microseconds.

/**
 * @typedef {object} Envelope ddpsim.report/1
 * @property {string} schema
 * @property {string} program
 * @property {string} command
 * @property {string} verdict
 * @property {string} text
 * @property {{causes: Record<string, string>, sources: Record<string, string>}} words
 * @property {Documents} documents
 *
 * @typedef {object} Documents
 * @property {Result} [result] today's step
 * @property {Timeline} [timeline]
 * @property {Timeline} [measured_timeline]
 * @property {Timeline} [recorded_timeline]
 * @property {Result} [recommended_result]
 * @property {Timeline} [recommended_timeline]
 * @property {Tune} [tune]
 * @property {Advice} [advice]
 * @property {Compare} [compare]
 * @property {Calibration} [calibration]
 * @property {Validation} [validation]
 * @property {AllReduce} [allreduce]
 * @property {{source: string, rows: {size_bytes: number, time_us: number}[]}} [measured_all_reduces]
 *
 * @typedef {{value: number, low: number, high: number}} Gain
 * @typedef {{source: string, command: string, then: string}} MeasureNext
 * @typedef {{grade: string, provenance: string | null, interval_percent: [number, number], because: string[],
 *   measure_next: MeasureNext | null}} Confidence
 * @typedef {{source: string, low_us: number, high_us: number}} Sensitivity
 * @typedef {{cause: string, us: number, low_us: number, high_us: number}} Loss
 *
 * @typedef {object} Asked what every answer about a job says of it
 * @property {string} workload
 * @property {string} cluster
 * @property {number} ranks
 * @property {string} torch
 * @property {boolean} torch_known
 * @property {string | null} nccl
 * @property {string} backend
 * @property {string} network
 * @property {number} compute_scale
 * @property {number} rank_slowdown
 * @property {{name: string, options: Record<string, string>}} [scheme]
 * @property {string} [bucket_setting]
 * @property {Confidence} confidence
 * @property {Sensitivity[]} sensitivities
 * @property {string[]} warnings
 * @property {Recorded | null} [recorded]
 * @property {Replay} [replay]
 *
 * @typedef {object} Replay
 * @property {number} measured_us
 * @property {number} predicted_us
 * @property {number} residual_us
 * @property {number} residual_percent
 *
 * @typedef {object} Recorded
 * @property {string | null} torch
 * @property {number} ranks
 * @property {boolean} comparable
 * @property {boolean} same_buckets
 * @property {number} all_reduce_us
 * @property {number} predicted_us
 * @property {{bytes: number, duration_us: {min: number, median: number, max: number}, transfer_us:
 *   number | null, predicted_us: number, inside: boolean}[]} buckets
 *
 * @typedef {Asked & ResultFields} Result ddpsim.result/1
 * @typedef {object} ResultFields
 * @property {number} iteration_us
 * @property {number} forward_us
 * @property {number} backward_us
 * @property {number} exposed_communication_us
 * @property {number} blocking_communication_us
 * @property {number} communication_us
 * @property {number | null} overlap
 * @property {number} optimizer_us
 * @property {Bucket[]} buckets
 * @property {number} alone_us
 * @property {number} scaling_efficiency
 * @property {number | null} samples_per_second
 * @property {number | null} tokens_per_second
 * @property {number | null} model_flops_utilization
 * @property {Loss[]} loss
 * @property {Memory} memory
 * @property {{rank: number, [key: string]: any}[]} [rank_waits]
 *
 * @typedef {object} Memory
 * @property {number | null} peak_bytes
 * @property {number} at_least_bytes
 * @property {string} at
 * @property {Record<string, number | null>} parts
 *
 * @typedef {object} Bucket
 * @property {number} index
 * @property {number} bytes
 * @property {number[]} parameter_indices
 * @property {number} ready_us
 * @property {number} launch_us
 * @property {number} start_us
 * @property {number} last_arrival_us
 * @property {number} last_rank
 * @property {number} end_us
 * @property {string | null} algorithm
 * @property {string | null} protocol
 * @property {number | null} channels
 * @property {string} closed_by
 * @property {string | null} exposed_because
 *
 * @typedef {object} Timeline ddpsim.timeline/1
 * @property {{rank: number, gpu?: string, spans: Span[]}[]} ranks
 * @property {string} clock
 * @property {Record<string, string>} provenance
 *
 * @typedef {object} Span
 * @property {'host' | 'compute' | 'communication'} track
 * @property {string} name
 * @property {number | null} bucket
 * @property {number} start_us
 * @property {number} end_us
 * @property {{first: string, last: string, count: number}} [parameters]
 *
 * @typedef {object} CurvePoint
 * @property {number | null} bucket_cap_mb
 * @property {number | null} first_bucket_mb
 * @property {[number, number]} cap_range_mb
 * @property {number} iteration_us
 * @property {number} exposed_communication_us
 * @property {number} blocking_communication_us
 * @property {number} buckets
 * @property {boolean} reachable
 * @property {number} [if_communication_us]
 *
 * @typedef {Asked & TuneFields} Tune ddpsim.tune/1
 * @typedef {object} TuneFields
 * @property {CurvePoint} default
 * @property {CurvePoint} best
 * @property {CurvePoint[]} curve
 * @property {number} bucketings
 * @property {{recorded: boolean, bucket_cap_mb: number | null, first_bucket_mb: number | null, iteration_us: number,
 *   bucket_bytes: number[]} | null} today
 * @property {Recommended} recommended
 * @property {{torch_from: string, torch_to: string | null, action: string, bucket_cap_mb: number | null,
 *   first_bucket_mb: number | null, gain_us: Gain}[] | null} recommended_by_version
 * @property {{cause: string, action: string, bucket_cap_mb: number | null, gain_us: Gain}[]} [recommended_by_cause]
 * @property {AdviceRow | null} better_lever
 * @property {number} lower_bound_us
 * @property {{bucket_bytes: number[], iteration_us: number, reachable: boolean, buckets: number} | null} best_partition
 * @property {string} [best_partition_absent_because]
 *
 * @typedef {object} Recommended
 * @property {string} action
 * @property {number | null} bucket_cap_mb
 * @property {number | null} first_bucket_mb
 * @property {[number, number] | null} cap_range_mb
 * @property {Gain} gain_us
 * @property {Gain | null} most_robust_gain_us
 * @property {{because: string, bucket_cap_mb: number | null, first_bucket_mb: number | null, gain_us: Gain,
 *   sizes_bytes: number[], command: string, then: string | null, takes_us: number, deciding_bytes: number,
 *   predicted_us: number, set_up_to_us: number | null} | null} [measure_first]
 * @property {number} expected_gain_us
 * @property {number} regret_us
 * @property {{below_mb: number | null, above_mb: number | null, below_loss_us: number | null, above_loss_us: number |
 *   null} | null} next_worse
 * @property {number} measurable_us
 * @property {string} python
 * @property {string} reason
 *
 * @typedef {Asked & AdviceFields} Advice ddpsim.advice/1
 * @typedef {object} AdviceFields
 * @property {number} iteration_us
 * @property {number} measurable_us
 * @property {AdviceRow[]} rows
 *
 * @typedef {object} AdviceRow
 * @property {string[]} levers
 * @property {string} line
 * @property {boolean} changes_numerics
 * @property {boolean} changes_batch
 * @property {string} note
 * @property {boolean} worth
 * @property {Gain} gain_us
 * @property {number} expected_gain_us
 * @property {number} regret_us
 * @property {number} iteration_us
 * @property {number | null} memory_bytes
 * @property {string} [error]
 *
 * @typedef {object} Compare ddpsim.compare/1
 * @property {string} workload
 * @property {string} torch
 * @property {boolean} torch_known
 * @property {string | null} nccl
 * @property {string} backend
 * @property {string} network
 * @property {string} bucket_setting
 * @property {CompareRow[]} rows
 * @property {number[]} by_speed
 * @property {boolean} fastest_is_certain
 * @property {Recorded | null} [recorded]
 * @property {string[]} warnings
 *
 * @typedef {object} CompareRow
 * @property {string} label
 * @property {string} cluster
 * @property {number | null} ranks
 * @property {string} [error]
 * @property {number} iteration_us
 * @property {number} alone_us
 * @property {number} scaling_efficiency
 * @property {number | null} samples_per_second
 * @property {number | null} tokens_per_second
 * @property {number | null} model_flops_utilization
 * @property {number} blocking_communication_us
 * @property {number} blocking_share
 * @property {Recommended | null} best_cap
 * @property {Loss[]} loss
 * @property {Confidence} confidence
 * @property {Gain} behind_percent
 * @property {{source: string, low_percent: number, high_percent: number}[]} behind_sources
 * @property {boolean} same
 * @property {any} [cost]
 *
 * @typedef {object} Calibration ddpsim.calibration/1, or of gloo
 * @property {string} cluster
 * @property {string} output
 * @property {string[]} read
 * @property {any} [calibrated]
 * @property {any} [model_alone]
 * @property {{source: string, nodes: number, gpus_per_node: number, size_bytes: number, algorithm?: string, protocol?:
 *   string, measured_us: number, modelled_us?: number, calibrated_us: number}[]} [residuals]
 * @property {{name: string, element?: string, unit: string, before: number, value: number, low: number, high:
 *   number}[]} [constants]
 * @property {any[]} [shapes_left_out]
 * @property {{source: string, reason: string}[]} [left_out]
 * @property {string[]} [model_misses]
 * @property {string[]} [notes]
 * @property {string[]} warnings
 *
 * @typedef {object} Validation ddpsim.validation/1
 * @property {string} predicted
 * @property {string} measured
 * @property {{name: string, unit: string, measured: number, predicted: number, error_percent: number, within_interval?:
 *   boolean}[]} rows
 * @property {number} median_abs_error_percent
 * @property {number} p90_abs_error_percent
 * @property {number} worst_abs_error_percent
 * @property {string} worst_name
 * @property {{given: number, hold: number}} [intervals]
 * @property {string[]} notes
 * @property {string[]} warnings
 *
 * @typedef {object} AllReduce ddpsim.allreduce/1
 * @property {string} [collective]
 * @property {string} cluster
 * @property {number} ranks
 * @property {number} nodes
 * @property {number} gpus_per_node
 * @property {string} gpu
 * @property {string} torch
 * @property {string} nccl
 * @property {{size_bytes: number, time_us: number, low_us: number, high_us: number, algbw_gbps: number, busbw_gbps:
 *   number, algorithm: string, protocol: string, channels: number, nccl_estimate_us: number}[]} rows
 * @property {Confidence} confidence
 * @property {string[]} warnings
 */

export {};
