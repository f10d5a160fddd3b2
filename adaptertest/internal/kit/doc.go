// Package kit is what every clause uses: the context of a clause and the run that it
// belongs to, the observer of its calls, the tables of methods and of kinds of record,
// records to store, comparison, and the budget that says how much a clause tries.
//
// It knows the adapter contract and the harness, and no clause. What one group of clauses
// alone uses is a function of that group.
package kit
