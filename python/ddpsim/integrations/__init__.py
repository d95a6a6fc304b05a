"""ddpsim.autotune inside training frameworks. Each module needs the framework it is named after."""
