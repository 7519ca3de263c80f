/* Co-simulation unit of FMI 3.0 that passes all calls to a Python process over a socket.

   The functions are those of the standard, fmi-standard.org, 3.0.2. A request is a letter and the
   size of what follows, so is an answer: 'k' with the result, 'w' a warning for the log (the answer
   comes after it), 'e' the text of an error. The process ends when the socket is closed, by
   fmi3FreeInstance or by the end of the tool. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL /* macOS has an option of the socket instead */
#define MSG_NOSIGNAL 0
#endif
#define API __attribute__((visibility("default")))

extern char **environ;

#ifdef FMI_HEADERS /* the declarations of the standard, to compare */
#include "fmi3Functions.h"
typedef fmi3Status Status;
typedef fmi3IntervalQualifier Interval;
typedef fmi3DependencyKind Dependency;
typedef fmi3IntermediateUpdateCallback Update;
typedef fmi3LogMessageCallback Log;
#else
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } Status;
typedef enum { NotYetKnown, Unchanged, Changed } Interval;
typedef enum { Independent, Constant, Fixed, Tunable, Discrete, Dependent } Dependency;
typedef void (*Update)(void *, double, bool, bool, bool, bool, bool *, double *);
typedef void (*Log)(void *environment, Status status, const char *category, const char *message);
#endif
typedef const char *Text;
typedef const uint8_t *Bytes;
typedef struct {
    int socket;
    pid_t process;
    void *environment;
    Log log;
} Unit;
typedef struct {
    uint32_t kind, size;
} Head;

static Status tell(Unit *unit, Status status, const char *text) {
    if (unit->log)
        unit->log(unit->environment, status, status == fmi3Warning ? "logStatusWarning"
                  : status == fmi3Error ? "logStatusError" : "logStatusFatal", text);
    return status;
}

static bool put(Unit *unit, const void *data, size_t size) {
    for (const char *at = data; size;) {
        ssize_t n = send(unit->socket, at, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

static bool take(Unit *unit, void *data, size_t size) {
    for (char *at = data; size;) {
        ssize_t n = recv(unit->socket, at, size, 0);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n, size -= (size_t)n;
    }
    return true;
}

/* Ask with up to two pieces of data; the answer has exactly n_out bytes. */
static Status ask(Unit *unit, char what, const void *a, size_t n_a, const void *b, size_t n_b,
                  void *out, size_t n_out) {
    Head head = {(uint32_t)what, (uint32_t)(n_a + n_b)};
    Status status = fmi3OK;
    bool whole = put(unit, &head, sizeof head) && put(unit, a, n_a) && put(unit, b, n_b);
    while (whole && (whole = take(unit, &head, sizeof head))) {
        if (head.kind == 'k') {
            if (head.size != n_out) break;
            if (take(unit, out, n_out)) return status;
        } else {
            char *text = malloc((size_t)head.size + 1);
            if ((whole = text && take(unit, text, head.size))) {
                text[head.size] = 0;
                status = tell(unit, head.kind == 'w' ? fmi3Warning : fmi3Error, text);
            }
            free(text);
            if (whole && status == fmi3Error) return status;
        }
    }
    return tell(unit, fmi3Fatal, "mbd: the Python process of this unit has ended, or could not be "
                "started; its error output says why. MBD_PYTHON names the interpreter to take");
}

static void release(Unit *unit) {
    close(unit->socket); /* the process ends by itself, after the step that it is in */
    for (int i = 0; unit->process > 0 && waitpid(unit->process, NULL, WNOHANG) == 0; i++) {
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL);
        if (i == 2000) kill(unit->process, SIGKILL);
    }
    free(unit);
}

/* Read the line that names the interpreter with which the unit was made. */
static bool interpreter(const char *resources, char *line, int size) {
    const char *other = getenv("MBD_PYTHON");
    if (other) return snprintf(line, (size_t)size, "%s", other) < size;
    if (snprintf(line, (size_t)size, "%s/python.txt", resources) >= size) return false;
    FILE *file = fopen(line, "r");
    bool there = file && fgets(line, size, file);
    if (file) fclose(file);
    if (there) line[strcspn(line, "\n")] = 0;
    return there;
}

static bool start(Unit *unit, const char *resources) {
    char python[4096];
    int ends[2];
    if (!interpreter(resources, python, sizeof python) || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return false;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC); /* other processes of the tool must not keep it open */
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    char *words[] = {python, "-P", "-m", "mbd.fmi.process", (char *)resources, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1); /* the output is the tool's */
    int failed = posix_spawnp(&unit->process, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    unit->socket = ends[0];
    if (failed) unit->process = 0;
    return true;
}

API const char *fmi3GetVersion(void) { return "3.0"; }

API Status fmi3SetDebugLogging(void *unit, bool on, size_t n, const Text categories[]) {
    return fmi3OK;
}

API void *fmi3InstantiateCoSimulation(
    const char *name, const char *token, const char *resources, bool visible, bool logging,
    bool events, bool early_return, const uint32_t variables[], size_t n_variables,
    void *environment, Log log, Update update) {
    Unit *unit = calloc(1, sizeof *unit);
    if (!unit) return NULL;
    unit->environment = environment, unit->log = log, unit->socket = -1;
    if (!resources || !start(unit, resources))
        tell(unit, fmi3Error, "mbd: the resources of the unit are not where the tool says");
    else if (ask(unit, 'h', token, strlen(token), NULL, 0, NULL, 0) <= fmi3Warning)
        return unit;
    release(unit);
    return NULL;
}

API void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources,
                                       bool visible, bool logging, void *environment, Log log) {
    return NULL;
}

API void *fmi3InstantiateScheduledExecution(
    const char *name, const char *token, const char *resources, bool visible, bool logging,
    void *environment, Log log, void (*update)(void *), void (*lock)(), void (*unlock)()) {
    return NULL;
}

API void fmi3FreeInstance(void *unit) {
    if (unit) release(unit);
}

API Status fmi3EnterInitializationMode(void *unit, bool has_tolerance, double tolerance,
                                       double t_start, bool has_end, double t_end) {
    return ask(unit, 'i', &t_start, sizeof t_start, NULL, 0, NULL, 0);
}

API Status fmi3ExitInitializationMode(void *unit) {
    return ask(unit, 'x', NULL, 0, NULL, 0, NULL, 0);
}

API Status fmi3Terminate(void *unit) { return fmi3OK; }

API Status fmi3Reset(void *unit) { return ask(unit, 'r', NULL, 0, NULL, 0, NULL, 0); }

API Status fmi3GetFloat64(void *unit, const uint32_t which[], size_t n, double values[],
                          size_t n_values) {
    if (n != n_values) return tell(unit, fmi3Error, "mbd: all variables are single numbers");
    return ask(unit, 'g', which, n * sizeof *which, NULL, 0, values, n * sizeof *values);
}

API Status fmi3SetFloat64(void *unit, const uint32_t which[], size_t n, const double values[],
                          size_t n_values) {
    if (n != n_values) return tell(unit, fmi3Error, "mbd: all variables are single numbers");
    return ask(unit, 's', which, n * sizeof *which, values, n * sizeof *values, NULL, 0);
}

API Status fmi3DoStep(void *unit, double t, double step, bool final, bool *event, bool *terminate,
                      bool *early, double *reached) {
    double times[] = {t, step};
    Status status = ask(unit, 'd', times, sizeof times, NULL, 0, NULL, 0);
    *event = *terminate = *early = false;
    *reached = status <= fmi3Warning ? t + step : t;
    return status;
}

/* States are numbers that the process counts, from 1. */
API Status fmi3GetFMUState(void *unit, void **state) {
    uint32_t number = (uint32_t)(uintptr_t)*state;
    Status status = ask(unit, 'n', &number, sizeof number, NULL, 0, &number, sizeof number);
    if (status <= fmi3Warning) *state = (void *)(uintptr_t)number;
    return status;
}

API Status fmi3SetFMUState(void *unit, void *state) {
    uint32_t number = (uint32_t)(uintptr_t)state;
    return ask(unit, 't', &number, sizeof number, NULL, 0, NULL, 0);
}

API Status fmi3FreeFMUState(void *unit, void **state) {
    uint32_t number = (uint32_t)(uintptr_t)*state;
    *state = NULL;
    return number ? ask(unit, 'f', &number, sizeof number, NULL, 0, NULL, 0) : fmi3OK;
}

/* What the description of the unit does not offer. */
#define REFUSED(name, ...) \
    API Status fmi3##name(void *unit, ##__VA_ARGS__) { \
        return tell(unit, fmi3Error, "mbd: this unit does not have fmi3" #name); \
    }
#define OF_TYPE(name, type) \
    REFUSED(Get##name, const uint32_t which[], size_t n, type values[], size_t n_values) \
    REFUSED(Set##name, const uint32_t which[], size_t n, const type values[], size_t n_values)

OF_TYPE(Float32, float)
OF_TYPE(Int8, int8_t)
OF_TYPE(UInt8, uint8_t)
OF_TYPE(Int16, int16_t)
OF_TYPE(UInt16, uint16_t)
OF_TYPE(Int32, int32_t)
OF_TYPE(UInt32, uint32_t)
OF_TYPE(Int64, int64_t)
OF_TYPE(UInt64, uint64_t)
OF_TYPE(Boolean, bool)
OF_TYPE(String, Text)
REFUSED(GetBinary, const uint32_t which[], size_t n, size_t sizes[], Bytes values[], size_t m)
REFUSED(SetBinary, const uint32_t which[], size_t n, const size_t sizes[], const Bytes values[],
        size_t m)
REFUSED(GetClock, const uint32_t which[], size_t n, bool values[])
REFUSED(SetClock, const uint32_t which[], size_t n, const bool values[])
REFUSED(GetNumberOfVariableDependencies, uint32_t which, size_t *n)
REFUSED(GetVariableDependencies, uint32_t which, size_t elements[], uint32_t on[],
        size_t elements_on[], Dependency kinds[], size_t n)
REFUSED(SerializedFMUStateSize, void *state, size_t *size)
REFUSED(SerializeFMUState, void *state, uint8_t data[], size_t size)
REFUSED(DeserializeFMUState, const uint8_t data[], size_t size, void **state)
REFUSED(GetDirectionalDerivative, const uint32_t of[], size_t n_of, const uint32_t by[],
        size_t n_by, const double seed[], size_t n_seed, double values[], size_t n_values)
REFUSED(GetAdjointDerivative, const uint32_t of[], size_t n_of, const uint32_t by[], size_t n_by,
        const double seed[], size_t n_seed, double values[], size_t n_values)
REFUSED(EnterConfigurationMode)
REFUSED(ExitConfigurationMode)
REFUSED(EnterEventMode)
REFUSED(EnterStepMode)
REFUSED(EvaluateDiscreteStates)
REFUSED(UpdateDiscreteStates, bool *again, bool *terminate, bool *nominals, bool *values,
        bool *has_next, double *next)
REFUSED(GetIntervalDecimal, const uint32_t which[], size_t n, double intervals[], Interval kinds[])
REFUSED(GetIntervalFraction, const uint32_t which[], size_t n, uint64_t counters[],
        uint64_t resolutions[], Interval kinds[])
REFUSED(GetShiftDecimal, const uint32_t which[], size_t n, double shifts[])
REFUSED(GetShiftFraction, const uint32_t which[], size_t n, uint64_t counters[],
        uint64_t resolutions[])
REFUSED(SetIntervalDecimal, const uint32_t which[], size_t n, const double intervals[])
REFUSED(SetIntervalFraction, const uint32_t which[], size_t n, const uint64_t counters[],
        const uint64_t resolutions[])
REFUSED(SetShiftDecimal, const uint32_t which[], size_t n, const double shifts[])
REFUSED(SetShiftFraction, const uint32_t which[], size_t n, const uint64_t counters[],
        const uint64_t resolutions[])
REFUSED(GetOutputDerivatives, const uint32_t which[], size_t n, const int32_t orders[],
        double values[], size_t n_values)
REFUSED(ActivateModelPartition, uint32_t clock, double t)
REFUSED(EnterContinuousTimeMode)
REFUSED(CompletedIntegratorStep, bool final, bool *event, bool *terminate)
REFUSED(SetTime, double t)
REFUSED(SetContinuousStates, const double states[], size_t n)
REFUSED(GetContinuousStateDerivatives, double rates[], size_t n)
REFUSED(GetEventIndicators, double indicators[], size_t n)
REFUSED(GetContinuousStates, double states[], size_t n)
REFUSED(GetNominalsOfContinuousStates, double nominals[], size_t n)
REFUSED(GetNumberOfEventIndicators, size_t *n)
REFUSED(GetNumberOfContinuousStates, size_t *n)
