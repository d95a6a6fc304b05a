# Read by ctest: test cases that do the same a thousand times over, or fit for minutes. Sanitizers see each of their paths in
# others; the release build runs them.
foreach(name
    "bundled clusters: own logs beside published ones, a third job shape left out"
    "calibrate: intervals hold at any distance from what was measured"
    "calibrate: job shapes left out of their family"
    "choice laws: bandwidth by size and NIC, and the wires, on thousands of random clusters"
    "choice laws: where the choice changes bandwidth falls no more than in posted tables"
    "lead: random upgrades are never slower under the same choice"
    "tune: a search that simulates a tenth of the bucketings finds what an exhaustive one does"
    "tune: what lies beyond the recommended range is simulated, and costs more than can be measured")
  set_tests_properties("${name}" PROPERTIES LABELS elsewhere)
endforeach()
