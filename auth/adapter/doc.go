// Package adapter is the storage contract of Gatehouse: the five kinds of
// record, the nineteen methods that read and write them, and the errors that a
// store returns.
//
// An adapter is any type that implements [Adapter]. Every method is optional:
// [Partial] makes an Adapter of a value that has only some of them. The doc
// comment of a method says what the method must do. The identifiers in
// brackets, such as [VTOK-04], are clauses of the contract and the names of the
// subtests with which package adaptertest checks them.
//
// Four rules hold for every method and are not repeated below.
//
//   - A lookup without a match is (nil, nil). A non-nil error means that the
//     store failed; the record is then nil. [ERR-01] [ERR-03] [ERR-07]
//   - Strings are opaque and compared byte for byte. E-mail addresses may be
//     compared without regard to the case of ASCII letters. A key that the store
//     cannot represent (not a UUID, too long, empty, not UTF-8) has no record.
//     [USER-08] [INPUT-01] [INPUT-10]
//   - Instants are stored to the millisecond or better, in whatever time zone
//     they are given, and are returned in UTC. [TIME-01] [TIME-02]
//     [TIME-12]
//   - A method neither changes nor keeps its arguments, and its results belong
//     to the caller. All methods are safe for concurrent use. A cancelled context
//     ends the call with the context's error. [ALIAS-01] [ALIAS-03] [CONC-13]
//     [CTX-01]
//
// The package imports nothing but the standard library.
//
// [VTOK-04]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/vtok.md#vtok-04
// [ERR-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/err.md#err-01
// [ERR-03]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/err.md#err-03
// [ERR-07]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/err.md#err-07
// [USER-08]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/user.md#user-08
// [INPUT-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/input.md#input-01
// [INPUT-10]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/input.md#input-10
// [TIME-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/time.md#time-01
// [TIME-02]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/time.md#time-02
// [TIME-12]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/time.md#time-12
// [ALIAS-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/alias.md#alias-01
// [ALIAS-03]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/alias.md#alias-03
// [CONC-13]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/conc.md#conc-13
// [CTX-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/ctx.md#ctx-01
package adapter
