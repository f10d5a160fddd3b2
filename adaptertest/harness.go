package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness tells the suite how to open an adapter, and what else it can do with
// the store. Only New is required; each further field lets more clauses be
// verified. Functions that take an adapter are given one that New or another
// field returned: an author who needs to keep something with it can return a
// type of their own that embeds the adapter.
type Harness struct {
	// Name and Version head the report. Name defaults to the type of the adapter.
	Name, Version string

	// New opens an adapter, once for each clause. The store may be a fresh one
	// or one that all clauses share; cleaning up is t.Cleanup's work.
	New func(t testing.TB) adapter.Adapter

	// SharedStore says that New opens all adapters over one store, so that
	// ISO-01 can't be verified. It needs saying only of a store in the memory of
	// the process, which looks like state that belongs to the package.
	SharedStore bool

	// Second opens another handle on the data of a, as another process would
	// have it. Faults injected into a must not touch it.
	Second func(t testing.TB, a adapter.Adapter) adapter.Adapter

	// Close closes the client or handle under a that New or Second opened.
	Close func(a adapter.Adapter) error

	// Reopen opens the data of a again after Close. A store that keeps nothing
	// beyond Close leaves it nil and declares Volatile.
	Reopen func(t testing.TB, a adapter.Adapter) adapter.Adapter

	// Namespace opens an adapter over the store of a under another prefix,
	// schema or table name, made from name as simply as the adapter allows. An
	// error says that the adapter refuses the name, which is its right.
	Namespace func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error)

	// Clock returns the clock that a and its store go by.
	Clock func(a adapter.Adapter) Clock

	// Sweep triggers the clean-up of what expired at or before now. It defaults
	// to DeleteExpired where the adapter has it.
	Sweep func(ctx context.Context, a adapter.Adapter, now time.Time) error

	// Faults returns the control over the traffic between a and its store.
	Faults func(a adapter.Adapter) fault.Control

	// Corrupt makes the stored record undecodable, and returns a function that
	// makes it whole again, or nil if it can't do that to this kind of record.
	Corrupt func(t testing.TB, a adapter.Adapter, r Record) (repair func())

	// Inspect reports whether the record is in the store, looking behind the
	// adapter.
	Inspect func(ctx context.Context, a adapter.Adapter, r Record) (bool, error)

	// Single opens an adapter that has a single connection.
	Single func(t testing.TB) adapter.Adapter

	// Limited opens an adapter whose pool holds at most four connections, with
	// traffic under the control that Faults returns for it.
	Limited func(t testing.TB) adapter.Adapter

	// Pooled opens an adapter through a pooler that may give each statement
	// another server connection.
	Pooled func(t testing.TB) adapter.Adapter

	// Connections returns the number of connections between a and its store.
	Connections func(a adapter.Adapter) int

	// CheckHandle reports whether the handle that the harness gave to a still
	// works.
	CheckHandle func(ctx context.Context, a adapter.Adapter) error

	// NewID makes a well-formed user ID that no user has. It defaults to a
	// random UUID.
	NewID func() string

	// InternalNames lists names that the adapter uses in the store, as index
	// prefixes and table names, which must be no keys [INPUT-09].
	InternalNames []string

	// Declarations say what the adapter does differently where the contract
	// leaves a choice.
	Declarations Declarations

	// Waivers excuse clauses.
	Waivers []Waiver

	// Parallel is how many clauses run at once, on adapters of their own; zero is
	// one. It saves time with a driver that waits much. New, and what else opens
	// adapters, must then work for several clauses at once. Clauses that are
	// races, that measure, or that judge the whole run or process run alone,
	// after the others. A run of go test that names clauses by -run or -skip makes
	// them one after the other.
	Parallel int

	// ClauseTimeout ends a stuck clause: none of its calls has returned for so
	// long. It defaults to a minute. A clause whose calls return is cut off after five
	// times as long, or when the time of go test is over, and is not verified.
	ClauseTimeout time.Duration
}

func (h *Harness) clauseTimeout() time.Duration {
	if h.ClauseTimeout == 0 {
		return time.Minute
	}
	return h.ClauseTimeout
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

// Declarations say what an adapter does where the contract leaves a choice. The
// zero value is the strictest.
type Declarations struct {
	// EmailFoldsCase: e-mail addresses are equal if they differ in ASCII case
	// only [USER-15].
	EmailFoldsCase bool `json:"emailFoldsCase,omitempty"`
	// AssignsIDs: CreateUser replaces supplied IDs [USER-05].
	AssignsIDs bool `json:"assignsIDs,omitempty"`
	// Volatile says why nothing is kept beyond Close [ISO-04].
	Volatile string `json:"volatile,omitempty"`
	// Timeless: neither the adapter nor its store looks at a clock; whether
	// something has expired is decided by who asks. The suite then waits for
	// nothing to expire but moves a clock of its own.
	Timeless bool `json:"timeless,omitempty"`
	// NoPooler says why no pooler can stand between the adapter and its store:
	// Harness.Pooled can't be set [FAULT-11].
	NoPooler string `json:"noPooler,omitempty"`
	// Scans says why the store reads every record of a kind to find one. The suite
	// stores as much as ever, and looks up a part of it [VOL-02, VOL-03].
	Scans string `json:"scans,omitempty"`
	// Precision of instants; a millisecond if zero [TIME-02].
	Precision time.Duration `json:"precision,omitempty"`
	// EventualReads is the bound within which writes become visible; zero if at
	// once [ISO-06].
	EventualReads time.Duration `json:"eventualReads,omitempty"`
}

// Waiver excuses one clause. A waived clause that passes is an error: the
// waiver is stale.
type Waiver struct {
	Clause string `json:"clause"`
	Reason string `json:"reason"`
	Link   string `json:"link,omitempty"`
	// Racy says that the clause may pass by luck, because it is tested by a race
	// that the adapter does not always lose. It is then waived all the same: one
	// race that was won proves nothing. Only clauses that are tested by a race
	// can have it.
	Racy bool `json:"racy,omitempty"`
}

// reason is what the report says.
func (w Waiver) reason() string { return strings.TrimSpace(w.Reason + " " + w.Link) }

// ability is something that a harness can do beyond opening an adapter.
type ability string

// The abilities, named for the fields of Harness.
const (
	abilitySecond      ability = "Second"
	abilityClose       ability = "Close"
	abilityReopen      ability = "Reopen"
	abilityNamespace   ability = "Namespace"
	abilityClock       ability = "Clock"
	abilitySweep       ability = "Sweep"
	abilityFaults      ability = "Faults"
	abilityCorrupt     ability = "Corrupt"
	abilityInspect     ability = "Inspect"
	abilitySingle      ability = "Single"
	abilityLimited     ability = "Limited"
	abilityPooled      ability = "Pooled"
	abilityConnections ability = "Connections"
	abilityCheckHandle ability = "CheckHandle"
	// AbilitySubprocess is had by Run, which can start the test binary again, and
	// by Check with Options.Again.
	abilitySubprocess ability = "Subprocess"
)

// has reports whether the field of the ability is set. What depends on more than
// the harness is decided by clauseContext.has.
func (h *Harness) has(a ability) bool {
	switch a {
	case abilitySecond:
		return h.Second != nil
	case abilityClose:
		return h.Close != nil
	case abilityReopen:
		return h.Reopen != nil
	case abilityNamespace:
		return h.Namespace != nil
	case abilityFaults:
		return h.Faults != nil
	case abilityCorrupt:
		return h.Corrupt != nil
	case abilityInspect:
		return h.Inspect != nil
	case abilitySingle:
		return h.Single != nil
	case abilityLimited:
		return h.Limited != nil
	case abilityPooled:
		return h.Pooled != nil
	case abilityConnections:
		return h.Connections != nil
	case abilityCheckHandle:
		return h.CheckHandle != nil
	default:
		return false
	}
}

// validate returns every problem of the harness at once.
func (h *Harness) validate() error {
	var problems []error
	if h.New == nil {
		problems = append(problems, errors.New("adaptertest: Harness.New is nil: it must open the adapter under test"))
	}
	if h.Reopen != nil && h.Close == nil {
		problems = append(problems, errors.New("adaptertest: Harness.Reopen without Harness.Close: the suite closes before it reopens"))
	}
	if h.Reopen != nil && h.Declarations.Volatile != "" {
		problems = append(problems, errors.New("adaptertest: Harness.Reopen is set, and Declarations.Volatile says that nothing is kept"))
	}
	if h.Clock != nil && h.Declarations.Timeless {
		problems = append(problems, errors.New("adaptertest: Harness.Clock is set, and Declarations.Timeless says that neither the adapter nor its store looks at a clock"))
	}
	if h.Pooled != nil && h.Declarations.NoPooler != "" {
		problems = append(problems, errors.New("adaptertest: Harness.Pooled is set, and Declarations.NoPooler says that no pooler can exist"))
	}
	if h.Declarations.Precision < 0 || h.Declarations.EventualReads < 0 || h.ClauseTimeout < 0 {
		problems = append(problems, errors.New("adaptertest: a duration of the harness is negative"))
	}
	if h.Parallel < 0 {
		problems = append(problems, fmt.Errorf("adaptertest: Harness.Parallel is %d, want 1 or more", h.Parallel))
	}
	waived := map[string]bool{}
	for _, w := range h.Waivers {
		if _, ok := clauseByID(w.Clause); !ok {
			problems = append(problems, fmt.Errorf("adaptertest: a waiver names the unknown clause %q", w.Clause))
		}
		if w.Racy && !races(w.Clause) {
			problems = append(problems, fmt.Errorf("adaptertest: the waiver of %s is Racy, and that clause is not tested by a race", w.Clause))
		}
		if w.Reason == "" {
			problems = append(problems, fmt.Errorf("adaptertest: the waiver of %s gives no reason", w.Clause))
		}
		if waived[w.Clause] {
			problems = append(problems, fmt.Errorf("adaptertest: %s is waived twice", w.Clause))
		}
		waived[w.Clause] = true
	}
	return errors.Join(problems...)
}

func (h *Harness) waiver(id string) (Waiver, bool) {
	for _, w := range h.Waivers {
		if w.Clause == id {
			return w, true
		}
	}
	return Waiver{}, false
}

// precision is the declared precision of instants.
func (h *Harness) precision() time.Duration {
	if h.Declarations.Precision > 0 {
		return h.Declarations.Precision
	}
	return time.Millisecond
}
