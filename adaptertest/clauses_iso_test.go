package adaptertest

import (
	"database/sql"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// packageUsers stands for an adapter whose state belongs to its package.
type packageUsers struct{ *users }

// withDatabase holds something that may lead out of the process.
type withDatabase struct {
	*users
	db *sql.DB
}

func TestPackageStateIsTold(t *testing.T) {
	state, one := &users{}, newUsers(t)
	for name, c := range map[string]struct {
		harness Harness
		want    Outcome
	}{
		"a store each":          {Harness{New: newUsers}, Pass},
		"state of the package":  {Harness{New: func(t testing.TB) adapter.Adapter { return partialPointer(t, &packageUsers{state}) }}, Fail},
		"declared":              {Harness{SharedStore: true, New: func(t testing.TB) adapter.Adapter { return partialPointer(t, &packageUsers{state}) }}, NotVerified},
		"one adapter":           {Harness{New: func(testing.TB) adapter.Adapter { return one }}, NotVerified},
		"a store outside of it": {Harness{New: func(t testing.TB) adapter.Adapter { return partialPointer(t, &withDatabase{state, new(sql.DB)}) }}, NotVerified},
	} {
		t.Run(name, func(t *testing.T) {
			report, err := Check(t.Context(), c.harness, Options{Only: []string{"ISO-01"}})
			if err != nil {
				t.Fatal(err)
			}
			if x, _ := report.Result("ISO-01"); x.Outcome != c.want {
				t.Errorf("got %s (%s) %v, want %s", x.Outcome, x.Reason, x.Evidence, c.want)
			}
		})
	}
}

// partialPointer is another adapter each time, which partial is not: it is a
// comparable value.
func partialPointer(t testing.TB, v any) adapter.Adapter {
	return &struct{ adapter.PartialAdapter }{partial(t, v).(adapter.PartialAdapter)}
}
