# Keep translations of README.md up to date: make -f translations.mk -j2
LANGUAGES = German French
all: $(LANGUAGES:%=README.%.md)
README.%.md: README.md
	pflow-read-file -n '$<' | pflow-llm 'Translate into $*, and keep the Markdown' | pflow-write-file '$@' -q
