"""A proof-reader of Chinese news: each rule with an error that it finds, and a sample of the data without any."""

import pytest

from bench import grammar_zh

WRONG = [
    "朱雁十号的的样品重量是多少",
    "朱雁十号的带回样品的重量的结果公布。",
    "组委会在枫州在体育馆举行决赛。",
    "到场观众4841人人。",
    "这是第第五届。",
    "决赛在枫州举行,观众很多。",
    "决赛在 枫州举行。",
    "观众很多。。",
    "获奖作品是《》。",
    "柏谷电子公司柏谷电子公司发布新品。",
    "竹舟62014年4月亮相。",
    "竹舟6八月亮相。",
    "重量约300克左右。",
    "首场安排在下午15时。",
    "首场安排在上午9时5分。",
    "0名队员参加。",
    "海外业务占收入的143%，上座率132%。",
    "他说：“我们赢了。",
    "我们赢了”。",
    "决赛在枫州举行。观众很多",
    "全线有12部大桥。",
    "决赛于2月30日举行。",
    "观众{观众}。",
]


@pytest.mark.parametrize("text", WRONG)
def test_an_error_is_found(text: str) -> None:
    assert list(grammar_zh.errors(text))


@pytest.mark.parametrize(
    "text",
    [
        "2005年年报4月3日公布，同比增长1.2%，占收入的31%。",
        "《枫州晚报》：门票卖得怎么样？\n张建国：最低票价140元，5天售完。",
        "附表　竹舟6数据一览\n品类｜平板电脑｜起售价｜2999元",
        "学者李文海认为，结论还需要15分钟以上的观察。",
        "经过2月29日、12月31日和上午9时05分三次测试，“一切正常”。",
    ],
)
def test_good_sentences_have_no_error(text: str) -> None:
    assert not list(grammar_zh.errors(text))


@pytest.mark.parametrize("difficulty", ["news", "adversarial"])
def test_a_sample_of_the_data_has_no_error(difficulty: str) -> None:
    looked, found = grammar_zh.sample(1500, difficulty, seed=11)
    assert looked >= 1500
    assert not found, found[:5]
