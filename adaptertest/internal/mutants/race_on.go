//go:build race

package mutants

// raceDetector says whether the race detector watches.
const raceDetector = true
