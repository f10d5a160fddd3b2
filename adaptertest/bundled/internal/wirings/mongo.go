package wirings

import (
	"context"

	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// mongoWiring is one deployment of MongoDB.
type mongoWiring struct {
	name     string
	needs    stores.Kind
	settings mongotest.Settings
}

func mongoWirings() []Wiring {
	var all []Wiring
	for _, w := range []mongoWiring{
		{name: "replica set", needs: stores.KindMongoReplica},
		{name: "standalone", needs: stores.KindMongo},
		{name: "replica set of three", needs: stores.KindMongoSet},
		{
			name: "collections of Prisma, as they are", needs: stores.KindMongoReplica,
			settings: mongotest.Settings{Prisma: true, AsTheyAre: true},
		},
		{
			name: "collections of Prisma, after IndexChanges", needs: stores.KindMongoReplica,
			settings: mongotest.Settings{Prisma: true},
		},
		{name: "MongoDB 6, standalone", needs: stores.KindMongo.Of("6")},
		// Only a registry has these.
		{name: "MongoDB 5, standalone", needs: stores.KindMongo.Of("5")},
		{name: "MongoDB 7, standalone", needs: stores.KindMongo.Of("7")},
		{name: "sharded cluster", needs: stores.KindMongoSharded},
	} {
		needs := []stores.Kind{w.needs, stores.KindMongoUsers}
		all = append(all, Wiring{Adapter: "mongo", Name: w.name, Needs: needs, open: w.open})
	}
	return all
}

func (w mongoWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	server, err := s.Find(ctx, w.needs)
	if err != nil {
		return nil, err
	}
	users, err := s.Find(ctx, stores.KindMongoUsers)
	if err != nil {
		return nil, err
	}
	settings := w.settings
	settings.URL, settings.Users = server.URL, users.URL
	env, err := mongotest.Open(settings)
	if err != nil {
		return nil, err
	}
	return &Opened{Server: server.Name, Version: server.Version, Store: server, Harness: env.Harness(), close: env.Close}, nil
}
