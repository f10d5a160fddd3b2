// Package limit has a limiter of attempts to sign in, for auth.Config:
//
//	auth.Config{Limit: limit.New(limit.Options{})}
//
// It counts the attempts of a client, those for an account (the address or name
// that was typed), and those of a client for an account. The first ones are free.
// Then each has to wait, twice as long as the one before and at most a few
// minutes: a stranger can slow the sign-in to somebody's account down, and can't
// close it. A browser that signed in to the account before (auth.Attempt.Browser)
// is counted apart, so it does not even get slower. No request is held back: an
// attempt that comes too early gets status 429 with Retry-After and is not made.
// Known and unknown accounts are the same to the limiter, which looks nothing up.
//
// The counts are kept in the process, in bounded memory. With several processes,
// Options.Store keeps them for all: redis.Limits of adapters/redis. Then an attempt is
// one round trip, and while the store fails each process counts alone.
package limit
