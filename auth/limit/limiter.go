package limit

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
	"github.com/gatehouse-go/gatehouse/auth/limit/counts"
)

// Options are the options of New. The zero value is for one process.
type Options struct {
	// Rules replace those of Defaults, for each kind that they have.
	Rules map[Kind]Rules
	// Store keeps the counts for several processes: redis.Limits of adapters/redis.
	// While it fails, each process counts alone. Without it there is no other process.
	Store Store
	// Secret hashes what Store gets, so that nobody who reads the store learns
	// addresses. With a Store it is needed, has at least 32 bytes, and is the same in
	// all processes.
	Secret string
	// StoreFailed is told when the store fails, at most every few seconds. Without
	// it, the default logger of package slog is.
	StoreFailed func(ctx context.Context, err error)
	// Clock returns the current time. Without it, it is time.Now. The store has a
	// clock of its own.
	Clock func() time.Time
}

// LogValue shows nothing, because Secret is one, as Format and MarshalJSON.
func (o Options) LogValue() slog.Value { return slog.StringValue(redact.Text) }

// Format prints what LogValue returns.
func (o Options) Format(f fmt.State, _ rune) { redact.Format(f, o) }

// MarshalJSON writes what LogValue returns.
func (o Options) MarshalJSON() ([]byte, error) { return redact.JSON(o) }

// Store counts attempts for several processes.
type Store = counts.Store

// limiter limits attempts to sign in.
type limiter struct {
	options Options
	rules   map[Kind]*Rules
	table   *table
	// storeAgain is when the store is asked again after it failed, in Unix
	// nanoseconds.
	storeAgain atomic.Int64
}

// minSecret is the length in bytes of the shortest Options.Secret.
const minSecret = 32

// New returns a limiter for auth.Config.Limit. It counts each attempt. Its error is
// an *auth.TooManyAttempts if the attempt comes too early; then it is not counted.
// It is safe for concurrent use. New panics if the options can't work: with a rule
// without free attempts or with times that are not positive, a kind that does not
// exist, or a Store without a Secret.
func New(o Options) func(context.Context, auth.Attempt) error {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.StoreFailed == nil {
		o.StoreFailed = func(ctx context.Context, err error) {
			slog.WarnContext(ctx, "limit: the store fails, so each process counts alone", "error", err)
		}
	}
	if o.Store != nil && len(o.Secret) < minSecret {
		panic(fmt.Sprintf("limit: Options.Secret has %d bytes, and a Store needs one of at least %d", len(o.Secret), minSecret))
	}
	l := &limiter{options: o, rules: map[Kind]*Rules{}, table: newTable(o.Clock())}
	for _, k := range kinds {
		rules := Defaults(k)
		l.rules[k] = &rules
	}
	for k, rules := range o.Rules {
		if l.rules[k] == nil {
			panic(fmt.Sprintf("limit: Options.Rules has the kind %q, which does not exist", k))
		}
		for _, r := range []Rule{rules.Client, rules.Account, rules.Both, rules.Known} {
			if err := r.Check(); err != nil {
				panic(fmt.Sprintf("limit: %s: %v", k, err))
			}
		}
		l.rules[k] = &rules
	}
	return l.allow
}

func (l *limiter) allow(ctx context.Context, a auth.Attempt) error {
	var room [maxBuckets]bucket
	buckets := l.buckets(room[:0], &a)
	wait, stored := l.takeFromStore(ctx, buckets)
	if wait == 0 { // the process counts what the store lets through, for when the store fails
		own := l.table.take(buckets, l.options.Clock())
		if !stored {
			wait = own
		}
	}
	if wait > 0 {
		return &auth.TooManyAttempts{RetryAfter: wait}
	}
	return nil
}

const (
	// storeWait is how long the store may take.
	storeWait = time.Second
	// storePause is how long the store is not asked after it failed.
	storePause = 5 * time.Second
)

// takeFromStore counts the attempt in the store, and returns how long it has to
// wait. Stored is false if there is no store or if it fails.
func (l *limiter) takeFromStore(ctx context.Context, buckets []bucket) (wait time.Duration, stored bool) {
	now := time.Now().UnixNano()
	if l.options.Store == nil || len(buckets) == 0 || now < l.storeAgain.Load() {
		return 0, false
	}
	list := make([]counts.Bucket, len(buckets))
	for i := range buckets {
		list[i] = counts.Bucket{Key: buckets[i].key(l.options.Secret), Rule: buckets[i].effective()}
	}
	asked, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	wait, err := l.options.Store.Take(asked, list)
	if err == nil {
		return wait, true
	}
	if ctx.Err() == nil && l.storeAgain.Swap(now+int64(storePause)) < now {
		l.options.StoreFailed(ctx, err)
	}
	return 0, false
}
