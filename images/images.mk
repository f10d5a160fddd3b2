# The engine and the images of the stores. With GATEHOUSE_SKIP_STORES=1 a missing engine or image is not an error.
.PHONY: engine images

## engine: make sure that a Docker engine answers
engine:
	@.ci/setup-engine || [ "$$GATEHOUSE_SKIP_STORES" = 1 ]

## images: build the images of the stores on a machine that reaches no registry
images: engine
	@images/build || [ "$$GATEHOUSE_SKIP_STORES" = 1 ]
