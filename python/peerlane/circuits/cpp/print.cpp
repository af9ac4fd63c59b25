// Keeps what circuits print, such as the message of an assertion, instead of writing it to standard output.

#include <cstdarg>
#include <cstdio>
#include <string>

std::string& circuit_printed() {
    static thread_local std::string printed;
    return printed;
}

// Verilator's library calls this function through VL_PRINTF.
int circuit_print(const char* format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    circuit_printed() += line;
    return size;
}
