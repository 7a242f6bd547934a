/**
 * Characters that look like an ASCII letter, digit, slash or dash.
 *
 * What must hold: this is only for comparing names, never for showing one. Wide characters and the
 * alphabets of mathematics are not listed, because normalising (NFKC) turns them into ASCII anyway.
 * The sigmas are listed because NFKC turns the lunate sigma, which looks like a c, into them.
 */

/** Each line: the ASCII character, then the characters that look like it. */
const alike = `
  a \u0430\u03b1\u0251\u237a\u1d00
  b \u0184\u042c\u044c\u13cf\u0299
  c \u0441\u03c2\u1d04
  d \u0501\u13e7\u146f\u1d05
  e \u0435\u04bd\u212e\u1d07
  f \u0192\u03dd\ua799\ua730
  g \u0261\u0581\u018d\u0262
  h \u04bb\u0570\u029c
  j \u0458\u03f3\u1d0a
  k \u043a\u03ba\u1d0b
  l \u0131\u0456\u0457\u0406\u0407\u03b9\u0399\u04c0
  l \u04cf\u01c0\u2223\u05c0\u2d4f\u13a5\u026a\u029f\u0196
  m \u043c\u1d0d
  n \u0578\u057c\u03b7\u0274
  o \u043e\u03bf\u03c3\u0585\u05e1\u0665\u06f5\u0d20\u101d\u2d54\u1d0f
  o \u1d11\u0966\u09e6\u0a66\u0ae6\u0b66\u0c66\u0ce6\u0d66\u0e50\u0ed0
  p \u0440\u03c1\u2374\u1d18
  q \u051b\u0563\u0566
  r \u0433\u1d26\u2c85\u0280
  s \u0455\ua731\u01bd
  t \u0442\u03c4\u1d1b
  u \u057d\u03c5\u028b\u1d1c
  v \u0475\u03bd\u2228\u22c1\u1d20
  w \u051d\u0461\u03c9\u026f\u1d21
  x \u0445\u03c7\u00d7\u2573
  y \u0443\u04af\u03b3\u028f
  z \u1d22\u0225
  A \u0410\u0391\u13aa
  B \u0412\u0392\u13f4
  C \u0421\u03a3\u13df
  D \u13a0
  E \u0415\u0395\u13ac
  F \u03dc
  G \u050c\u13c0
  H \u041d\u0397\u13bb
  J \u0408\u037f\u13ab
  K \u041a\u039a\u13e6
  L \u13de\u2cd0
  M \u041c\u039c\u03fa\u13b7
  N \u039d
  O \u041e\u039f\u0555
  P \u0420\u03a1\u13e2
  Q \u051a
  R \u13a1\u01a6
  S \u0405\u054f\u13da
  T \u0422\u03a4\u13a2
  U \u054d\u144c
  V \u0474\u13d9
  W \u051c\u13b3
  X \u0425\u03a7
  Y \u0423\u03a5\u04ae
  Z \u0396\u13c3
  2 \u01a7\u14bf
  3 \u0417\u0437\u04e0\u021c
  4 \u13ce
  5 \u01bc
  6 \u0431\u13ee
  8 \u0222
  / \u2044\u2215\u2571\u29f8\u27cb\u3033\u1735\u30ce\u4e3f
  - \u2010\u2012\u2013\u2014\u2015\u2212\u02d7\u2043\u2e3a
  . \u0660\u06f0\ua4f8
  : \u2236\ua789\u02d0\u0589\u05c3
`

const shapes = new Map(
  alike
    .trim()
    .split('\n')
    .flatMap((row) => {
      const [shape = '', others = ''] = row.trim().split(' ')
      return Array.from(others, (other): [string, string] => [other, shape])
    }),
)

/**
 * The shapes of a text's characters, in lower case. Within ASCII, `I`, `l`, `1` and `|` have the
 * same shape, and so have `O` and `0`.
 */
export function shapeOf(text: string): string {
  return Array.from(text, (character) => shapes.get(character) ?? character)
    .join('')
    .toLowerCase()
    .replaceAll(/[il1|]/g, 'l')
    .replaceAll('0', 'o')
}
