module github.com/gatehouse-go/gatehouse/examples/internal/visitor

go 1.26.0
