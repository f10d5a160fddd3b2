package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness tells the suite how to open an adapter, and what else the suite can do with the store. Only New is
// required; with each further field the suite can verify more clauses. A function that takes an adapter gets one that
// New or another field returned. An author who needs further values with an adapter can return a type that embeds it.
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Harness struct {
	// Name and Version head the report. Name defaults to the type of the adapter.
	Name, Version string

	// New opens an adapter, once for each clause. The store may be new or
	// shared by all clauses. New registers the clean-up with t.Cleanup.
	New func(t testing.TB) adapter.Adapter

	// SharedStore says that New opens all adapters over one store, so that [ISO-01] can't be verified. Only a store
	// in the memory of the process needs this field, because it looks like global state of the package.
	SharedStore bool

	// Second opens another handle on the data of a, like the handle of another
	// process. Faults injected into a must not touch it.
	Second func(t testing.TB, a adapter.Adapter) adapter.Adapter

	// Close closes the client or handle that New or Second opened for a.
	Close func(a adapter.Adapter) error

	// Reopen opens the data of a again after Close. Leave it nil for a store
	// that keeps nothing beyond Close, and declare Volatile.
	Reopen func(t testing.TB, a adapter.Adapter) adapter.Adapter

	// Namespace opens an adapter over the store of a under another prefix, schema or table name, made from name
	// as simply as the adapter allows. An error means that the adapter refuses the name, which is allowed.
	Namespace func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error)

	// Clock returns the clock that a and its store use.
	Clock func(a adapter.Adapter) Clock

	// Sweep triggers the clean-up of the records that expired at or before now.
	// The default is DeleteExpired if the adapter has it.
	Sweep func(ctx context.Context, a adapter.Adapter, now time.Time) error

	// Faults returns the control over the traffic between a and its store. The suite asks for it while no call of
	// a is under way, and before the first call in a clause that needs it.
	Faults func(a adapter.Adapter) fault.Control

	// Corrupt makes the stored record undecodable, and returns a function that
	// repairs it. It returns nil if it can't corrupt this kind of record.
	Corrupt func(t testing.TB, a adapter.Adapter, r Record) (repair func())

	// Inspect reports whether the record is in the store. It does not use the adapter.
	Inspect func(ctx context.Context, a adapter.Adapter, r Record) (bool, error)

	// Single opens an adapter that has a single connection.
	Single func(t testing.TB) adapter.Adapter

	// Limited opens an adapter whose pool holds at most four connections. Faults must control its traffic.
	Limited func(t testing.TB) adapter.Adapter

	// Pooled opens an adapter through a pooler that may send each statement over another server connection.
	Pooled func(t testing.TB) adapter.Adapter

	// Connections returns the number of connections between a and its store.
	Connections func(a adapter.Adapter) int

	// CheckHandle returns an error if the handle that the harness gave to a no longer works.
	CheckHandle func(ctx context.Context, a adapter.Adapter) error

	// Foreign makes stores that another product has filled, one for each product and
	// each way in which it stores instants. [SITE-01] [SITE-02]
	Foreign func(t testing.TB) []Foreign

	// Settings opens further handles on the data of a, whose role, database or connection has other settings:
	// time zone, forms of dates, isolation, and what else may change a result. [SITE-02]
	Settings func(t testing.TB, a adapter.Adapter) []adapter.Adapter

	// ReadOnly opens an adapter over a store with a standby. After demote, the connections that the adapter has read,
	// and refuse writes with the store's own error; new connections reach a server that takes writes. [SITE-03]
	ReadOnly func(t testing.TB) (a adapter.Adapter, demote func())

	// Quoting opens an adapter. After refuse, the store or a proxy refuses writes with
	// an error that quotes the command or the record. [SITE-04]
	Quoting func(t testing.TB) (a adapter.Adapter, refuse func())

	// Reduced makes stores, each with a role that lacks one of the rights that the adapter asks for. [SITE-05]
	Reduced func(t testing.TB) []Reduced

	// Refusing opens an adapter. After refuse, the store refuses writes for a reason of the site's own, such as a
	// trigger that violates a unique key of another table; it answers reads. [SITE-06]
	Refusing func(t testing.TB) (a adapter.Adapter, refuse func())

	// NewID makes a well-formed user ID that no user has. It defaults to a random UUID.
	NewID func() string

	// InternalNames lists names that the adapter uses in the store, such as
	// index prefixes and table names. They must not work as keys [INPUT-09].
	InternalNames []string

	// Declarations name the adapter's choices where the contract leaves one.
	Declarations Declarations

	// Waivers excuse clauses.
	Waivers []Waiver

	// Parallel is the number of clauses that run at once, each on its own adapter; zero means one. It saves time with a
	// driver that waits much. New and the other functions that open adapters must then work for several clauses at once.
	// Clauses that measure, or that judge the whole run or process, run alone, after the others; in a run of at least one
	// round the races run two at once. A clause with many cases, such as a fault at each step of each call, then tries
	// those that the store can answer in half a second, at least one of each method and of each kind of fault; in the
	// quick form those that it can answer in a twentieth of a second, with at most six calls at once. The clause notes how
	// many it left out. If -run or -skip of go test names clauses, they run one after the other, with all cases.
	Parallel int

	// ClauseTimeout ends a clause in which no call has returned for this time, or for half of it if a call is under
	// way in the quick form. The default is a minute. The first such clause is broken, and its evidence names the
	// call. After it a call is waited for a fifth of this time, the next such clause is not reached, and after three
	// of them, in the quick form two, the run ends. A clause whose calls return is cut off after five times this
	// time, or when the time of go test is over; it is then not reached.
	ClauseTimeout time.Duration
}

// Foreign is a store that another product has filled.
type Foreign struct {
	// Name is the product and its way to store instants.
	Name string
	// Open prepares the store, as a program does at its start, and opens an adapter. An
	// error means that the adapter refuses the store.
	Open func(t testing.TB) (adapter.Adapter, error)
	// User has the account and the session, which ends in the future. The suite looks
	// them up by User.Email, Account and Session.SessionToken.
	User    adapter.User
	Account adapter.AccountKey
	Session adapter.Session
}

// Reduced is a store whose role lacks one right.
type Reduced struct {
	// Right is the name that the error must have, without regard to case.
	Right string
	// Open opens an adapter as the role, without a call. The suite uses each for one call.
	Open func(t testing.TB) adapter.Adapter
	// Prepare makes the calls of the adapter that a program makes at its start, such as EnsureSchema. It may be nil.
	Prepare func(ctx context.Context, a adapter.Adapter) error
	// Witness opens an adapter with all rights on the same data.
	Witness func(t testing.TB) adapter.Adapter
}

// Clock is a clock that the suite can move.
type Clock interface {
	Now() time.Time
	Advance(d time.Duration)
}

// Kind is a kind of record.
type Kind string

// The kinds of records.
const (
	UserRecord              Kind = "user"
	AccountRecord           Kind = "account"
	SessionRecord           Kind = "session"
	VerificationTokenRecord Kind = "verification token"
	AuthenticatorRecord     Kind = "authenticator"
)

// Record names one stored record.
type Record struct {
	Kind Kind
	// Key is the user ID, the session token or the credential ID. Accounts are
	// named by Account, verification tokens by Token.
	Key     string
	Account adapter.AccountKey
	Token   adapter.VerificationTokenKey
}

// Declarations say what an adapter does where the contract leaves a choice. The zero value makes the strictest choices.
// CLAUSES.md explains the [clauses] of the fields.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
type Declarations struct {
	// EmailFoldsCase: e-mail addresses that differ only in ASCII case are equal [USER-15].
	EmailFoldsCase bool `json:"emailFoldsCase,omitempty"`
	// AssignsIDs: CreateUser replaces supplied IDs [USER-05].
	AssignsIDs bool `json:"assignsIDs,omitempty"`
	// Volatile says why nothing is kept beyond Close [ISO-04].
	Volatile string `json:"volatile,omitempty"`
	// Timeless: neither the adapter nor its store looks at a clock; the caller decides whether a record has
	// expired. The suite then moves its own clock instead of waiting.
	Timeless bool `json:"timeless,omitempty"`
	// NoPooler says why there can be no pooler between the adapter and its
	// store, so that Harness.Pooled can't be set [FAULT-11].
	NoPooler string `json:"noPooler,omitempty"`
	// Scans says why the store reads every record of a kind to find one. The suite then stores the same number of
	// records, and looks up only a part of them [VOL-02] [VOL-03].
	Scans string `json:"scans,omitempty"`
	// Precision is the precision of instants; zero means a millisecond [TIME-02].
	Precision time.Duration `json:"precision,omitempty"`
	// EventualReads is the longest time until a write becomes visible; zero means at once [ISO-06].
	EventualReads time.Duration `json:"eventualReads,omitempty"`
	// Lacks names fields that the store has no room for, such as the tables of another product:
	// Account.AuthorizationDetails, and Name, Created and LastUsed as in Authenticator.Name. The records of the
	// suite then have no value there. Clauses about these fields need waivers.
	Lacks []string `json:"lacks,omitempty"`
	// NoSite says why some of the fields Foreign, Settings, ReadOnly, Quoting, Reduced and Refusing of the
	// harness can't be set: a file has no standby. The keys are the names of the fields. [SITE-01] to [SITE-06]
	NoSite map[string]string `json:"noSite,omitempty"`
}

// Waiver excuses one clause. A waived clause that passes is an error: the waiver is stale.
type Waiver struct {
	Clause string `json:"clause"`
	Reason string `json:"reason"`
	Link   string `json:"link,omitempty"`
	// Racy says that the clause may pass by luck, because it is tested by a race that the adapter does not always
	// lose, or by a measurement. A pass is then waived too, because one pass proves nothing. Only such clauses
	// can have a Racy waiver.
	Racy bool `json:"racy,omitempty"`
}

// reason is the reason in the report.
func (w Waiver) reason() string { return strings.TrimSpace(w.Reason + " " + w.Link) }

// validate returns every problem of the harness at once.
func (h *Harness) validate() error {
	var problems []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Errorf("adaptertest: "+format, args...))
		}
	}
	d := h.Declarations
	wrong(h.New == nil, "Harness.New is nil: it must open the adapter under test")
	wrong(h.Reopen != nil && h.Close == nil, "Harness.Reopen without Harness.Close: the suite closes before it reopens")
	wrong(h.Reopen != nil && d.Volatile != "", "Harness.Reopen is set, and Declarations.Volatile says that nothing is kept")
	wrong(h.Clock != nil && d.Timeless,
		"Harness.Clock is set, and Declarations.Timeless says that neither the adapter nor its store looks at a clock")
	wrong(h.Pooled != nil && d.NoPooler != "", "Harness.Pooled is set, and Declarations.NoPooler says that no pooler can exist")
	wrong(d.Precision < 0 || d.EventualReads < 0 || h.ClauseTimeout < 0, "a duration of the harness is negative")
	site := map[string]bool{"Foreign": h.Foreign != nil, "Settings": h.Settings != nil, "ReadOnly": h.ReadOnly != nil,
		"Quoting": h.Quoting != nil, "Reduced": h.Reduced != nil, "Refusing": h.Refusing != nil}
	for _, name := range slices.Sorted(maps.Keys(d.NoSite)) {
		set, known := site[name]
		wrong(!known, "Declarations.NoSite names %q, want one of %q", name, slices.Sorted(maps.Keys(site)))
		wrong(set, "Harness.%s is set, and Declarations.NoSite says that it can't be", name)
		wrong(known && !set && d.NoSite[name] == "", "Declarations.NoSite gives no reason for %s", name)
	}
	for _, field := range d.Lacks {
		wrong(!slices.Contains(kit.OptionalFields, field),
			"Declarations.Lacks names %q, want one of %s", field, strings.Join(kit.OptionalFields, ", "))
	}
	wrong(h.Parallel < 0, "Harness.Parallel is %d, want 1 or more", h.Parallel)
	waived := map[string]bool{}
	for _, w := range h.Waivers {
		_, known := clauseByID(w.Clause)
		wrong(!known, "a waiver names the unknown clause %q", w.Clause)
		wrong(w.Racy && !races(w.Clause),
			"the waiver of %s is Racy, and that clause is tested neither by a race nor by a measurement", w.Clause)
		wrong(w.Reason == "", "the waiver of %s gives no reason", w.Clause)
		wrong(waived[w.Clause], "%s is waived twice", w.Clause)
		waived[w.Clause] = true
	}
	return errors.Join(problems...)
}

func (h *Harness) waiver(id string) (Waiver, bool) {
	return kit.Find(h.Waivers, func(w Waiver) bool { return w.Clause == id })
}
