package envoy

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPUTime returns what the process has used so far, in user and kernel mode, to 10 ms.
func (e *Envoy) CPUTime() (time.Duration, error) {
	stat, err := e.proc("stat")
	if err != nil {
		return 0, err
	}
	// The second field, the name, is in parentheses and may contain anything. See proc(5).
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	const utime, stime = 14 - 3, 15 - 3
	if len(fields) <= stime {
		return 0, fmt.Errorf("the CPU time of Envoy: unexpected %q", stat)
	}
	user, userErr := strconv.ParseInt(fields[utime], 10, 64)
	system, systemErr := strconv.ParseInt(fields[stime], 10, 64)
	if err := errors.Join(userErr, systemErr); err != nil {
		return 0, fmt.Errorf("the CPU time of Envoy: %w", err)
	}
	const tick = time.Second / 100 // Linux's unit on every platform that Go knows
	return time.Duration(user+system) * tick, nil
}

// MemoryBytes returns how much memory the process occupies now (resident set size).
func (e *Envoy) MemoryBytes() (int64, error) {
	statm, err := e.proc("statm")
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("the memory of Envoy: unexpected %q", statm)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the memory of Envoy: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}

func (e *Envoy) proc(name string) (string, error) {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", e.process.pid, name))
	if err != nil {
		return "", fmt.Errorf("what Envoy uses: %w", err)
	}
	return string(content), nil
}
