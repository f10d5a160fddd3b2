package main

import (
	"strings"
	"testing"
)

const output = `goos: linux
pkg: github.com/gatehouse-go/gatehouse/adapters/redis
BenchmarkAdapter/GetUser-2         	    7585	      9534 ns/op	        47.00 baseline-allocs/op	      9303 baseline-ns/op	         1.000 round-trips/op	         1.025 x-baseline	    1790 B/op	      48 allocs/op
BenchmarkSessions/GetSessionAndUser/sessions=1000-2 	 3	 1234567 ns/op
PASS
pkg: github.com/gatehouse-go/gatehouse/auth/jwt
BenchmarkEncode 	 100	 512.5 ns/op
--- FAIL: BenchmarkDecode
`

const want = `| package  | method                          | time    | baseline | ratio | round trips | allocations | baseline |
| ---      | ---                             | ---     | ---      | ---   | ---         | ---         | ---      |
| redis    | GetUser                         | 9.53 µs | 9.30 µs  | 1.02  | 1           | 48          | 47       |
| redis    | GetSessionAndUser/sessions=1000 | 1.23 ms |          |       |             |             |          |
| auth/jwt | Encode                          | 512 ns  |          |       |             |             |          |
`

func TestTable(t *testing.T) {
	var other, table strings.Builder
	all, failed, err := read(strings.NewReader(output), &other)
	if err != nil || !failed {
		t.Fatalf("got failed %t, error %v", failed, err)
	}
	if err := all.write(&table); err != nil {
		t.Fatal(err)
	}
	if table.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &table, want)
	}
	if !strings.Contains(other.String(), "--- FAIL: BenchmarkDecode") {
		t.Errorf("the failure was swallowed: %s", &other)
	}
}
