package history_test

import (
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/history"
	"github.com/stretchr/testify/assert"
)

// spend is a call that uses a token. It got the token or found none.
type spend struct{ got bool }

// once specifies a token that can be used once. The state says whether it is
// stored.
func once(state any, s spend) []any {
	if s.got != state.(bool) {
		return nil
	}
	return []any{false}
}

func call(client, from, to int, got bool) history.Call[spend] {
	return history.Call[spend]{Client: client, From: time.Duration(from), To: time.Duration(to), What: spend{got}}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	lost := call(1, 2, 3, true)
	lost.Ambiguous = true
	for name, test := range map[string]struct {
		calls []history.Call[spend]
		want  history.Verdict
	}{
		"nothing happened":                     {nil, history.Explained},
		"one of two at once":                   {[]history.Call[spend]{call(0, 0, 9, true), call(1, 1, 8, false)}, history.Explained},
		"the later one of two at once":         {[]history.Call[spend]{call(0, 0, 9, false), call(1, 1, 8, true)}, history.Explained},
		"both":                                 {[]history.Call[spend]{call(0, 0, 9, true), call(1, 1, 8, true)}, history.Impossible},
		"none before one":                      {[]history.Call[spend]{call(0, 0, 1, false), call(1, 2, 3, true)}, history.Impossible},
		"an unknown end that took effect late": {[]history.Call[spend]{lost, call(0, 4, 5, true)}, history.Explained},
		"an unknown end that took effect":      {[]history.Call[spend]{lost, call(0, 4, 5, false)}, history.Explained},
		"nothing explains that none got it":    {[]history.Call[spend]{call(0, 0, 1, false)}, history.Impossible},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, test.want, history.Judge(true, test.calls, once))
		})
	}
}
