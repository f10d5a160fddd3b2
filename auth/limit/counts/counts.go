// Package counts says how attempts to sign in are counted. It is what package limit
// and a store that counts for several processes share.
package counts

import (
	"context"
	"errors"
	"time"
)

// Rule says when attempts that are counted together may be made. The zero Rule
// limits nothing.
type Rule struct {
	// Free is the number of attempts that need not wait.
	Free int
	// Wait is how long the next one has to wait after them. Each attempt doubles
	// it, up to MaxWait.
	Wait, MaxWait time.Duration
	// Forget is the time after which one attempt counts no more.
	Forget time.Duration
}

// year is the longest time in a rule.
const year = 365 * 24 * time.Hour

// Check returns an error if the rule can't be kept. The zero Rule can.
func (r Rule) Check() error {
	switch {
	case r == Rule{}:
		return nil
	case r.Free < 1 || r.Wait <= 0 || r.MaxWait < r.Wait || r.Forget < time.Microsecond:
		return errors.New("a rule has at least one free attempt, and positive times with MaxWait not below Wait")
	case r.MaxWait > year || r.Forget > year || int64(r.Free) > int64(100*year/r.Forget):
		return errors.New("a rule has no time above a year, and remembers all attempts for a hundred years at most")
	}
	return nil
}

// Most is the number of attempts above which no more are counted: the wait does
// not grow any more, and would only be remembered for longer.
func (r Rule) Most() int {
	n := r.Free
	for wait := r.Wait; wait < r.MaxWait; wait *= 2 {
		n++
	}
	return n + 1
}

// WaitAfter returns how long the next attempt has to wait after n attempts.
func (r Rule) WaitAfter(n int) time.Duration {
	if n < r.Free {
		return 0
	}
	wait := r.Wait
	for ; n > r.Free && wait < r.MaxWait; n-- {
		wait *= 2
	}
	return min(wait, r.MaxWait)
}

// Bucket counts attempts by one rule. Key is a hash in base64url.
type Bucket struct {
	Key  string
	Rule Rule
}

// Store counts attempts for several processes. It is safe for concurrent use.
type Store interface {
	// Take counts an attempt in each of the buckets, in one step. If one of them
	// has to wait, it counts nothing and returns the longest of the waits.
	Take(ctx context.Context, buckets []Bucket) (wait time.Duration, err error)
}
