"""What packaging/test_sanitizers.py and other tests share."""

# Null pointers and the ends of objects are AddressSanitizer's business too: without a second check kernels compile in two thirds of the time.
FLAGS = "-fsanitize=address,undefined -fno-sanitize=null,object-size -fno-sanitize-recover=all -fno-omit-frame-pointer -g1"
# The OpenMP runtime keeps its threads' memory until the end: leaks are not looked for.
ENVIRONMENT = {"ASAN_OPTIONS": "detect_leaks=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
