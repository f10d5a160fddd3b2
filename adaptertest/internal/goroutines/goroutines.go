// Package goroutines finds goroutines by their profiler label. A goroutine has the labels of the
// one that started it.
package goroutines

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
)

// With returns the number of goroutines with the label, except the calling one, and their stacks.
func With(label, value string) (n int, stacks string) {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return 0, ""
	}
	want := fmt.Sprintf("%q:%q", label, value)
	var found []string
	_, all, _ := strings.Cut(profile.String(), "\n") // without the headline
	for stack := range strings.SplitSeq(all, "\n\n") {
		if strings.Contains(stack, want) {
			found = append(found, stack)
			n += alike(stack)
		}
	}
	return n, strings.Join(found, "\n\n")
}

// alike is the number of goroutines that have a stack, which begins with it.
func alike(stack string) (n int) {
	_, _ = fmt.Sscanf(stack, "%d @", &n) // zero if there is no number
	return n
}
