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
// Environment variables change a run: ADAPTERTEST_SEED repeats the one with
// that seed, ADAPTERTEST_ROUNDS multiplies the rounds of races and histories (0.1 is a tenth),
// ADAPTERTEST_STRICT=1 turns SHOULD into MUST, ADAPTERTEST_REPORT names a file
// that the JSON report is written to.
//
// [Bench] measures an adapter beside the least work by hand, [RoundTrips] counts
// what its methods send. Package authjs has an adapter share its database with
// the real Auth.js.
package adaptertest
