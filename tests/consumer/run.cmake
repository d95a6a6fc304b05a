# Configures, builds and runs one consumer from nothing.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
if(KIND STREQUAL "installed")
  run(${CMAKE_COMMAND} --install ${DDPSIM_BUILD} --prefix ${WORK}/prefix)
endif()
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G Ninja -DCMAKE_CXX_COMPILER=${CXX}
    "-DCMAKE_CXX_FLAGS=${FLAGS}" -DCMAKE_BUILD_TYPE=None -DCMAKE_PREFIX_PATH=${WORK}/prefix
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=32)  # not optimised: whether it builds is the question
run(${CMAKE_COMMAND} --build ${WORK}/build --target consumer)
run(${WORK}/build/consumer)
if(KIND STREQUAL "installed")
  run(${WORK}/prefix/bin/ddpsim --version)
  file(READ ${WORK}/prefix/share/ddpsim/schemas/ddpsim.result.1.json schema)
  string(JSON title GET "${schema}" title)
endif()
