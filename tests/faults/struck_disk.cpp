// Strikes a process before its n-th operation on files whose paths hold a text: SQLite writes from C, where no hook of
// the interpreter sees it. Loaded with LD_PRELOAD; `arm` begins to count.

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

std::atomic<long> left{0};
bool armed, torn;
char wanted[4096];
int number, report;

template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// Return whether this operation is the one to be struck.
bool is_struck(const char* operation, const char* path) {
    if (!armed || std::strstr(path, wanted) == nullptr || left.fetch_sub(1) != 1) return false;
    const char* file = std::strrchr(path, '/');
    dprintf(report, "%s %s", operation, file ? file + 1 : path);
    return true;
}

bool is_struck(const char* operation, int handle) {
    if (!armed) return false;
    char link[64], path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", handle);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    path[size < 0 ? 0 : size] = 0;
    return is_struck(operation, path);
}

void strike() {
    kill(getpid(), number);
    while (number == SIGKILL) pause();  // nothing more is done until it has come
}

}  // namespace

extern "C" {

void arm(const char* text, long operation, int half, int signal, const char* file) {
    std::snprintf(wanted, sizeof wanted, "%s", text);
    left = operation, torn = half, number = signal;
    report = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    armed = true;
}

#define WRITES(name, offset)                                                        \
    ssize_t name(int handle, const void* data, size_t size, offset at) {            \
        static const auto really = next<ssize_t(int, const void*, size_t, offset)>(#name); \
        if (is_struck("write", handle)) {                                           \
            if (torn) really(handle, data, size / 2, at);                           \
            strike();                                                               \
        }                                                                           \
        return really(handle, data, size, at);                                      \
    }
WRITES(pwrite, off_t)
WRITES(pwrite64, off64_t)

#define ENDS(name, offset)                                          \
    int name(int handle, offset size) noexcept {                    \
        static const auto really = next<int(int, offset)>(#name);   \
        if (is_struck("truncate", handle)) strike();                \
        return really(handle, size);                                \
    }
ENDS(ftruncate, off_t)
ENDS(ftruncate64, off64_t)

#define FLUSHES(name)                                       \
    int name(int handle) {                                  \
        static const auto really = next<int(int)>(#name);   \
        if (is_struck("flush", handle)) strike();           \
        return really(handle);                              \
    }
FLUSHES(fsync)
FLUSHES(fdatasync)

int unlink(const char* path) noexcept {
    static const auto really = next<int(const char*)>("unlink");
    if (is_struck("remove", path)) strike();
    return really(path);
}

#define OPENS(name)                                                     \
    int name(const char* path, int flags, ...) {                        \
        static const auto really = next<int(const char*, int, ...)>(#name); \
        va_list more;                                                   \
        va_start(more, flags);                                          \
        const mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0; \
        va_end(more);                                                   \
        if (flags & O_CREAT && is_struck("open", path)) strike();       \
        return really(path, flags, mode);                               \
    }
OPENS(open)
OPENS(open64)
}
