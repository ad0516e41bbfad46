"""Twenty answers as models write them: what must look right at every moment while it streams."""

DOCUMENTS = (
    """Here is the comparison:

| Service | Yesterday | Today | Change |
|---|---:|---:|:---:|
| checkout | 0.9 % | 0.4 % | -0.5 |
| search | 1.2 % | 1.3 % | +0.1 |

All within the limits.
""",
    """## Result

It is **green**, see [the log](https://example.org/log?a=1&b=2) and the
[second one](https://example.org/b "its title").

```python
def rate(errors: int, total: int) -> float:
    return errors / total if total else 0.0
```

That is `rate(3, 100)`, or **3 %**.
""",
    """Steps:

1. Open the file
2. Change `timeout = 5` to `timeout = 10`
3. Restart *all* workers

- [ ] asked Ana
- [x] wrote the **report**
- [ ] sent it to [the team](mailto:team@example.org)
""",
    """The **first** is _good_, the ***second*** is better, ~~the third~~ is gone.

> A quote with **bold** text
> and a second line.

---

The end.
""",
    """An image ![alt text](https://example.org/a.png) and a badge.

Another: ![the plan](https://example.org/plan.png "Plan") done.
""",
    """# Title

Some text before
the next heading.

### Smaller

- one
- two
  - inner
  - inner *two*
- three

Text after the list.
""",
    """a | b
--|--
1 | 2
3 | 4

Tables without outer pipes.
""",
    """Nested code in a list:

1. First run

   ```bash
   make run | tee log.txt
   echo "`date`"
   ```

2. Then look at `log.txt`.
""",
    """~~~json
{"a": [1, 2, {"b": "| no table |"}]}
~~~

The pipe above is in *code*, and `a | b` too.
""",
    """Footnotes[^1] are small[^two]. They follow.

[^1]: The first note, with a [link](https://example.org).
[^two]: The second note.

Text after them.
""",
    """Euler wrote $e^{i\\pi} + 1 = 0$, and the mean is \\(\\frac{a+b}{2}\\).

$$\\sum_{i=1}^n x_i^2 \\le \\sqrt{x}$$

It costs $5 and not $6.
""",
    """שלום, זה **מבחן** עם [קישור](https://example.org/he).

| שם | ערך |
|---|---|
| אחד | 1 |

- פריט ראשון
- פריט שני
""",
    """每个工作日 **9 点**检查一次，见[日志](https://example.org/zh)。

| 服务 | 今天 |
|---|---:|
| 结账 | 0.4 % |

```sql
SELECT * FROM jobs WHERE state = 'active';
```
""",
    """Snake_case_words and 2 * 3 * 4 stay, as do a_b and **bold_with_underscores**.

An [unfinished thought] in brackets, and an array a[0] = b[1].
""",
    """See [the guide][guide] and [the reference][ref] for more.

[guide]: https://example.org/guide
[ref]: https://example.org/reference

Both are long.
""",
    """- **Morning**: `07:00`, weather
- **Evening**: `20:00`, news and [mail](https://example.org/mail)

  A second paragraph of the item.

- **Night**: nothing

Setext heading
--------------

Text.
""",
    """| Command | What it does |
|---|---|
| `a \\| b` | pipes **twice** |
| [docs](https://example.org) | opens _them_ |
| ![x](https://example.org/x.png) | |
""",
    """Before the code ``with `ticks` inside`` and after.

````markdown
```python
print("inner")
```
````

<https://example.org/auto> and https://example.org/bare_link_(1) end it.
""",
    """> **Note**
> | a | b |
> |---|---|
> | 1 | 2 |

Then 5 < 6 &amp; 7 > 6, *really*.
""",
    """Hello! 🙂 **b0** w1 w2 🙂 *b3*

***

* star one
* star **two**

+ plus one

1) one
2) two

Thanks, that is all I found for https://example.org/search?q=segue+(test).
""",
)
