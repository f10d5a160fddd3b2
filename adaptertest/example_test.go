package adaptertest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// mailTokens stores verification tokens alone. It has a fault: any token of the
// identifier spends the pending one.
type mailTokens struct {
	mu      sync.Mutex
	pending map[string]adapter.VerificationToken
}

func (m *mailTokens) CreateVerificationToken(_ context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[t.Identifier] = t
	return &t, nil
}

func (m *mailTokens) UseVerificationToken(_ context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.pending[key.Identifier]
	delete(m.pending, key.Identifier)
	if !ok || t.Token != key.Token {
		return nil, nil
	}
	return &t, nil
}

func newMailTokens(testing.TB) adapter.Adapter {
	a, err := adapter.Partial(&mailTokens{pending: map[string]adapter.VerificationToken{}})
	if err != nil {
		panic(err)
	}
	return a
}

// In a test, Run makes each clause a subtest.
func ExampleRun() {
	_ = func(t *testing.T) { // func TestConformance(t *testing.T)
		adaptertest.Run(t, adaptertest.Harness{New: newMailTokens})
	}
}

// Outside a test, Check returns the report.
func ExampleCheck() {
	report, err := adaptertest.Check(context.Background(), adaptertest.Harness{New: newMailTokens},
		adaptertest.Options{Only: []string{"VTOK-01", "VTOK-04"}, Rounds: adaptertest.QuickRounds})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Failed() {
		fmt.Println(r.Clause.Level, r.Clause.ID, r.Clause.Rule)
	}
	// Output:
	// MUST VTOK-04 With the right identifier and a wrong token the result is absent, and the pending token can still be used.
}
