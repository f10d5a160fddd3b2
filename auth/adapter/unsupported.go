package adapter

import "fmt"

// unsupported provides the methods that an adapter lacks. [CAP-01]
//
// [CAP-01]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/clauses/cap.md#cap-01
type unsupported struct{}

func errUnsupported(method string) error { return fmt.Errorf("%s: %w", method, ErrUnsupported) }
