package mongo_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

var only = flag.String("only", "", "run only these clauses and groups, separated by commas")

// TestConformance runs the clauses on each server. A SHOULD counts as a MUST,
// every clause is verified, and nothing is waived.
func TestConformance(t *testing.T) {
	rounds := 1.0
	if text := os.Getenv("ADAPTERTEST_ROUNDS"); text != "" {
		rounds = must(strconv.ParseFloat(text, 64))(t)
	}
	onEachServer(t, func(t *testing.T, s server) {
		o := adaptertest.Options{Rounds: rounds, Strict: true}
		if *only != "" {
			o.Only = strings.Split(*only, ",")
		}
		o.Again = func(ctx context.Context) (*exec.Cmd, error) {
			return exec.CommandContext(ctx, os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$", "-only=TIME"), nil
		}
		h := s.env(t).Harness()
		h.Name, h.Version = "mongo, "+s.name, s.version(t)
		report, err := adaptertest.Check(t.Context(), h, o)
		if err != nil {
			t.Fatal(err)
		}
		if path := os.Getenv("ADAPTERTEST_REPORT"); path != "" {
			var b bytes.Buffer
			if err := errors.Join(report.WriteJSON(&b), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range report.With(adaptertest.NotVerified) {
			t.Errorf("%s is not verified: %s", x.Clause.ID, x.Reason)
		}
		var text strings.Builder
		if err := report.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		if len(report.Failed()) > 0 {
			t.Error(text.String())
		} else {
			t.Log(text.String())
		}
	})
}
