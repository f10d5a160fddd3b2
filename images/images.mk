# The engine and the images of the stores. With GATEHOUSE_SKIP_STORES=1 a machine without them goes on.
.PHONY: engine images

## engine: make sure that a Docker engine answers
engine:
	@.ci/setup-engine || [ "$$GATEHOUSE_SKIP_STORES" = 1 ]

## images: build the stores' images where no registry offers them
images: engine
	@images/build || [ "$$GATEHOUSE_SKIP_STORES" = 1 ]
