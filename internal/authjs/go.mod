module github.com/gatehouse-go/gatehouse/internal/authjs

go 1.26.0

require github.com/gatehouse-go/gatehouse/auth v0.0.0

replace github.com/gatehouse-go/gatehouse/auth => ../../auth
