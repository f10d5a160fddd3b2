// Package stores measures stores of other projects with adaptertest: stores of
// sessions by RunSessions, and a store of authorization codes by Run.
//
// Each file is a shim, which a maintainer can copy. The tests print what a store
// breaks, and assert nothing of it. README.md says what to do with a finding.
package stores
