// Package race makes calls at one moment: released together at a barrier, held step by
// step, in pairs, in histories and as a mixed load. It judges what they returned and left.
package race
