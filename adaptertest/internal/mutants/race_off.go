//go:build !race

package mutants

// raceDetector reports whether the race detector is on.
const raceDetector = false
