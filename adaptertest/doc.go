// Package adaptertest is the conformance suite for storage adapters: it runs
// every clause of the adapter contract against an adapter and says, by clause
// id, what the adapter gets wrong.
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Harness{
//			New: func(t testing.TB) adapter.Adapter { return myadapter.New(open(t)) },
//		})
//	}
//
// Each clause is a subtest named GROUP/ID-words. A failed MUST fails the test.
// A failed SHOULD is logged, and fails the test in strict mode. A MAY is
// recorded. A clause that needs an ability the harness does not have is not
// verified, and reported so by id; a clause about a method that the adapter
// does not have does not apply. CLAUSES.md explains every clause.
//
// A waiver excuses a clause that the store can't keep, with the reason; a waived
// clause that passes is an error, unless it is tested by a race and the waiver
// is Racy: then it stays waived, since a race that was won proves nothing. What
// the contract leaves open is declared, not waived.
//
// The suite judges an adapter through its interface alone, assumes nothing of
// what else is in the store, and can run many times, also at once, on one
// database. It gives no false alarms: time-outs are generous, and what is not
// certain is not reported.
//
// go test shows nothing of what passes when it runs several packages, as in
// go test ./...: a broken SHOULD is seen in the closing line, in the package's
// folder or with -v. ADAPTERTEST_STRICT=1 fails it everywhere. The closing line
// gives the verdict, what is kept, broken and not verified, and which fields of
// the harness would verify more; CLAUSES.md has a table of the fields.
//
// The harness is tried before the clauses, and what is wrong with it is told as
// its own fault. With -short the races and histories have a tenth of the rounds.
// The run ends in time for the deadline of go test, and says what it did not
// reach.
//
// Environment variables change a run: ADAPTERTEST_SEED repeats the one with
// that seed, ADAPTERTEST_ROUNDS multiplies the rounds of races and histories (0.1 is a tenth),
// ADAPTERTEST_STRICT=1 turns SHOULD into MUST, ADAPTERTEST_REPORT names a file
// that holds the JSON report. It is replaced after each clause and is always
// whole, so that a run which is cut off loses nothing.
//
// [Bench] measures an adapter beside the least work by hand, [RoundTrips] counts
// what its methods send. Package authjs has an adapter share its database with
// the real Auth.js.
package adaptertest
