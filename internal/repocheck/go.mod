module github.com/gatehouse-go/gatehouse/internal/repocheck

go 1.26
