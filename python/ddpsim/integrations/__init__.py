"""ddpsim.autotune inside training frameworks; each module needs the one it is named after."""
