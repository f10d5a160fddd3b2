// Package adaptertest is the conformance suite for storage adapters: it tests an adapter against every clause of
// the adapter contract, and reports each breach with the clause id.
//
//	func TestConformance(t *testing.T) {
//		adaptertest.Run(t, adaptertest.Harness{
//			New: func(t testing.TB) adapter.Adapter { return myadapter.New(open(t)) },
//		})
//	}
//
// Each clause is a subtest named GROUP/ID-words. A failed MUST fails the test. A failed SHOULD is logged, and
// fails the test in strict mode. A MAY is recorded. If the harness lacks an ability that a clause needs, the
// clause is not verified, and the report names it. If the adapter lacks a method that a clause is about, the
// clause does not apply. A clause that did not run to its end, because calls hang or there was no time, is not
// reached, and fails the test. CLAUSES.md lists the groups of clauses, each with a page that explains them.
//
// A waiver excuses a clause that the store can't keep, and gives the reason. A waived clause that passes is an
// error, unless it is tested by a race and the waiver is Racy: then it stays waived, because one pass of a race
// proves nothing. A choice that the contract leaves open is declared, not waived.
//
// The suite judges an adapter through its interface alone. It does not assume that the store is empty, and can
// run many times, also at once, on one database. It avoids false alarms: time-outs are long, and it reports only
// breaches that are certain.
//
// The closing line gives the verdict, the numbers of kept, broken and unverified clauses, and the fields of the
// harness that would verify more. It also names a broken SHOULD. When go test runs several packages, as in go
// test ./..., it hides the output of packages that pass: run it in the package's folder or with -v to see the
// line, or set ADAPTERTEST_STRICT=1, with which a broken SHOULD fails. CLAUSES.md has a table of the fields.
//
// The harness is tried before the clauses, and its errors are reported apart from breaches of the adapter. With
// -short the races and histories have a tenth of the rounds. The run ends before the deadline of go test, and
// reports the clauses that it did not reach. Of a broken clause the first lines of the evidence are printed, with
// the command that prints the rest.
//
// Environment variables change a run. ADAPTERTEST_SEED repeats the run with that seed. ADAPTERTEST_ROUNDS
// multiplies the rounds of races and histories (0.1 is a tenth). ADAPTERTEST_STRICT=1 turns SHOULD into MUST.
// ADAPTERTEST_REPORT names the file for the JSON report. The file is replaced after each clause and is always
// complete JSON, so that an interrupted run loses no result.
//
// RunSessions runs the clauses about sessions over a store of opaque sessions, which has
// bytes by token and knows no users.
//
// Package bench compares an adapter with hand-written code for the same work, and counts the round trips of its
// methods. Package remote lets the suite test an adapter that is written in another language.
package adaptertest
