package adaptertest

import (
	"database/sql"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// packageUsers simulates an adapter whose state is global in its package.
type packageUsers struct{ *users }

// withDatabase holds a value that may belong to a store outside the process.
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
			x := resultOf(t, c.harness, "ISO-01")
			assert.Equalf(t, c.want, x.Outcome, "got %s (%s) %v, want %s", x.Outcome, x.Reason, x.Evidence, c.want)
		})
	}
}

// partialPointer returns a different adapter each time. partial does not:
// its results are equal values.
func partialPointer(t testing.TB, v any) adapter.Adapter {
	return &struct{ adapter.PartialAdapter }{partial(t, v).(adapter.PartialAdapter)}
}
