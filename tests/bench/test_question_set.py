"""The question set of memory search: every question has one answer, and a third is set aside."""

from collections import Counter

from bench.question_set import LANGUAGES, everything, read


def test_every_question_names_one_passage() -> None:
    passages = Counter(each.passage for each in everything())
    for language in LANGUAGES:
        exchanges, questions = read(language)
        by_id = {each.id: each for each in exchanges}
        assert len(by_id) == len(exchanges)
        assert len(questions) >= 100
        assert all(passages[by_id[question.evidence].passage] == 1 for question in questions)


def test_a_third_of_the_questions_is_set_aside() -> None:
    for language in LANGUAGES:
        questions = read(language)[1]
        aside = sum(question.set_aside for question in questions)
        assert 0.3 < aside / len(questions) < 0.37
