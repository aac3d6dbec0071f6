"""Words of this trade that mean nearly the same: what people ask for, and what flows are described with."""

from __future__ import annotations

from functools import cache

from pflow.library.words import words

_GROUPS = """
summarize short shorten digest condense gist tldr abstract abridge brief
summarize overview outline recap boil compact essence nutshell main key
simplify simple plain easy easier understandable clear understand basic
fetch download retrieve pull load grab obtain scrape crawl
upload push publish transfer
mail email message inbox mailbox letter correspondence newsletter
send deliver forward dispatch post
write save store record create compose draft author
write comment document describe
read open look view load
find search locate look hunt seek discover detect
list enumerate show print display name catalog inventory
tell notify inform warn alert ping remind announce notice notification
delete remove erase drop purge prune clean clear wipe strip discard trash
repair fix mend patch correct solve resolve debug
bug issue defect problem ticket fault
error failure exception crash traceback fail wrong trace stack
check verify validate test inspect examine control proof
review assess evaluate critique critic judge comment feedback inspect
compare diff difference contrast distinguish match versus change
edit modify update alter adapt revise change amend
new latest recent fresh current newest
old outdated stale previous last earlier past former ago obsolete
upgrade update bump
name rename title call label
move shift relocate migrate
tidy sort order organize clean group arrange declutter mess
combine merge join unite concatenate unify altogether single
split cut divide break separate apart section
duplicate double copy twice equal identical redundant repeat
convert turn transform change export reencode
translate language german french spanish english italian japanese chinese portuguese dutch
picture image photo photograph shot snapshot camera jpg jpeg png figure illustration
file txt md text
shrink resize scale reduce smaller compress compact
video film movie clip mp4 youtube footage recording
audio recording sound mp3 voice podcast listen
speech speak aloud listen voice
transcribe transcript dictate speech
subtitle srt caption transcript
document article page essay paper manuscript text report
write article blog essay
website site web page url link homepage webpage
dead break unreachable nowhere offline 404 missing
table csv spreadsheet excel xlsx sheet column tabular
json object record
row line entry
database sql postgres mysql sqlite db query table select
chart graph plot diagram visualize curve
diagram draw picture graph architecture structure figure sketch
count number tally frequency
sum total amount add altogether calculate
money cost price expense amount spend pay bank finance budget fee
bank transaction payment account spending
invoice bill receipt payment
cheap cheapest deal discount low bargain
discount fall drop sale cheap reduction
buy shop purchase order groceries
sell sale revenue turnover
income earn revenue salary wage
tax revenue fiscal deduct deductible
company business firm organization corporate
customer client buyer user shopper consumer
team colleague coworker staff employee worker hire
friend family relative
meeting call conference appointment session discussion talk
discuss talk conversation debate thread chat
minutes protocol decision agree agreed action note
agree agreement contract deal
calendar schedule date plan appointment ics ical event
deadline due date overdue expire
today day daily
yesterday past
week thursday monday friday tuesday wednesday
forecast predict estimate future expect projection
weather rain umbrella temperature sunny cold warm hot snow wind forecast wear jacket coat
news headline world feed rss press newspaper paper
morning wake dawn
food meal dish dinner cook recipe evening lunch eat menu breakfast kitchen ingredient
grocery ingredient shopping
pantry fridge home food leftover
learn study memorize heart revise deck
card flashcard deck anki
book chapter textbook novel
question quiz exam test ask trivia
answer reply respond response
student pupil teach school class classroom course
job position work vacancy opening employment advert career
apply application candidate applicant
cv resume curriculum
candidate applicant recruit hire interview
letter cover application motivation
secret password key credential token passphrase
security vulnerability unsafe vulnerable exploit cve
encrypt safe secure protect
private personal anonymous anonymize redact identity data confidential sensitive gdpr
person name identity
backup archive copy pack safe
disk drive storage space room
directory folder
file document attachment
large big huge long giant biggest
slow performance fast speed time latency
server machine host computer
log logfile
alive respond answer running online reachable
outage offline respond unavailable
code source program script software
commit git staged
git repository repo history
version release tag edition variant
changelog release notes change history new
deploy ship release roll rollout launch publish
rollback undo revert back restore
production prod live
staging environment preview
docker container image
package library dependency lib component module third
project repository codebase code
legal license contract law gpl copyright open
contract agreement lease clause terms
clause term paragraph condition
risk danger dangerous unusual trap hazard pitfall
unusual weird strange odd outlier anomaly abnormal suspicious
measurement value reading number data
unit test pytest suite case
cover coverage exercise test
flaky sometimes intermittent unreliable
function method procedure
docstring documentation docs comment
api interface rest openapi endpoint swagger
manual reference guide handbook documentation
explain meaning understand clarify
kid child young
grammar spelling typo mistake proofread orthography
improve better enhance polish optimize
title heading headline
social tweet twitter post media
post blog article
blind accessibility accessible alt
describe description caption
google seo engine rank search
mailing newsletter subscribe subscription
newsletter unsubscribe
urgent important importance priority triage
label tag mark classify categorize
category sort group type kind class
theme topic subject
survey questionnaire poll
opinion think comment
positive sentiment happy satisfied negative mood feeling
review rating star opinion
customer product review
scan ocr photographed recognize
chapter section part
isbn book title
reference bibliography cite citation source bibtex
paper research arxiv science scientific study publication academic
term jargon glossary vocabulary definition terminology
event happen occur timeline chronology
birthday congratulate greeting anniversary
contact address phone
location place coordinate geocode latitude longitude map position gps
route tour trip path drive travel itinerary
flight plane air airline ticket fly travel
watch monitor observe track
month quarter
free available slot gap vacant
fake dummy made sample mock synthetic plausible
fill seed populate
experiment variant ab version win trial
significant real difference statistic
onboarding join colleague new newcomer
standup daily scrum
agenda topic talk
slack channel chat
cluster group
frequent common faq usual
bucket s3 cloud
migrate schema
port rewrite translate convert
support customer ticket
knowledge base wiki faq
deadline reminder due
reminder forget
worth suggest recommend propose idea
suggest title
list collect gather compile
collect gather accumulate
status state progress report
report status summary account
figure number data statistic
year annual
show note podcast episode
tone style wording
argument reasoning logic
time hour minute timestamp
timestamp date time
filename file name
searchable search index
scan paper
replace swap substitute exchange rotate
rotate renew replace
revoke cancel invalidate
leak expose commit
local home computer
notify message channel
install setup
"""

_MANY = 3
"""A word of more groups than these means so many things that each is worth less."""


@cache
def _groups() -> tuple[dict[str, frozenset[int]], list[frozenset[str]]]:
    """The groups of each stem, by number, and the stems of each group."""
    groups = [frozenset(words(line)) for line in _GROUPS.strip().splitlines()]
    found: dict[str, set[int]] = {}
    for number, group in enumerate(groups):
        for stem in group:
            found.setdefault(stem, set()).add(number)
    return {stem: frozenset(numbers) for stem, numbers in found.items()}, groups


def synonyms(stem: str) -> dict[str, float]:
    """What may stand for a stem, each with how near it is (0 to 1): a word of many groups means many things."""
    of_stem, groups = _groups()
    numbers = of_stem.get(stem, frozenset())
    near: dict[str, float] = {}
    for number in numbers:
        for other in groups[number]:
            near[other] = max(near.get(other, 0.0), _nearness(len(numbers), len(of_stem[other])))
    near.pop(stem, None)
    return near


def _nearness(groups: int, others: int) -> float:
    return 0.9 * min(1.0, (_MANY / max(groups, _MANY)) * (_MANY / max(others, _MANY)) + 0.2)
