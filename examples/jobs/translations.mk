# Translations of README.md that follow it: make -f translations.mk -j2
LANGUAGES = German French
all: $(LANGUAGES:%=README.%.md)
README.%.md: README.md
	pflow-read-file -n '$<' | pflow-llm 'Translate into $*, and keep the Markdown:' | pflow-write-file '$@' -q
