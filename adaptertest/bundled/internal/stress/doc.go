// Package stress has tests that can run for a long time: they test that tokens are used once under random faults, and
// they kill servers under load. By default they run with small numbers. make stress runs them with large numbers and
// prints the results.
package stress
