package deadlock

import (
	"errors"
	"fmt"
	"testing"
)

type postgres struct{ code string }

func (postgres) Error() string      { return "the text says nothing" }
func (p postgres) SQLState() string { return p.code }

type mysql struct {
	Number  uint16
	Message string
}

func (*mysql) Error() string { return "the text says nothing" }

func TestCode(t *testing.T) {
	for _, x := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("ERROR: deadlock detected (SQLSTATE 40P01)"), ""},
		{postgres{"40P01"}, "40P01"},
		{fmt.Errorf("create user: %w", postgres{"40001"}), "40001"},
		{postgres{"23505"}, ""},
		{&mysql{Number: 1213}, "1213"},
		{&mysql{Number: 1062}, ""},
		{fmt.Errorf("create user: %w", errors.Join(errors.New("rollback"), &mysql{Number: 1213})), "1213"},
	} {
		if got := Code(x.err); got != x.want {
			t.Errorf("%#v: got %q, want %q", x.err, got, x.want)
		}
	}
}
