package kit

// Check is the executable form of a clause.
type Check struct {
	ID string
	// Words follow the ID in the name of the subtest, for example wrong-token-keeps-pending.
	Words string
	// Needs are the abilities without which the clause can't be verified.
	Needs []Ability
	// Requires are the methods without which the clause does not apply to an adapter. Of the other methods a clause uses
	// those that work; other lookups replace a missing lookup, see standins.go.
	Requires []string
	// Races says that the outcome depends on the timing of concurrent calls or on a
	// random search, so that an adapter that breaks the clause may pass by luck.
	Races bool
	// Measures says that the check compares times, so that an adapter that breaks the clause may pass by luck.
	Measures bool
	// Alone says that the check measures time, judges the whole run, process or store, or
	// needs stores that New opens one after the other.
	Alone bool
	Test  func(c *Context)
}

// Name is the name of the subtest.
func (k Check) Name() string { return k.ID + "-" + k.Words }

// Outcome is the outcome of a check, before waivers and the level of the clause are considered.
type Outcome string

// The outcomes.
const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	NotVerified   Outcome = "not verified"
	NotApplicable Outcome = "not applicable"
	// NotReached is the outcome of a clause that did not run to its end, because
	// calls hang, or because there was no time.
	NotReached Outcome = "not reached"
	// Recorded is the outcome of a check whose breach is not judged.
	Recorded Outcome = "recorded"
)

// StaleWaiver is the reason of a failure when a waived clause passes.
const StaleWaiver = "stale waiver"

// Hangs is the reason of the failure that says which call hangs. The run fails, whatever the clause.
const Hangs = "a call hangs"

// Finding is what a check found.
type Finding struct {
	Outcome Outcome
	// Reason says why the clause was not verified or does not apply, and Needs
	// are the fields of the harness that it lacked.
	Reason string
	Needs  []string
	// Evidence has each breach, observations, and for a breach the last calls.
	Evidence []string
	// Advice says what to do if the evidence says more than the clause does.
	Advice string
}
