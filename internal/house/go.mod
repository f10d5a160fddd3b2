module github.com/gatehouse-go/gatehouse/internal/house

go 1.26
