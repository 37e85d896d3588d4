"""What packaging/test_sanitizers.py and other tests share: the flags and the environment of the preset `asan`."""

from native import preset

FLAGS = preset("asan")["cacheVariables"]["CMAKE_C_FLAGS"]
ENVIRONMENT = preset("asan", "testPresets")["environment"]
