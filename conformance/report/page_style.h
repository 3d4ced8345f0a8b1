// The look of report.html, and its filter; both stand in the page itself.
#pragma once

namespace ferrule::conformance {

constexpr const char* kPageStyle = R"css(
:root{color-scheme:light dark;--ground:#fbfbfa;--card:#fff;--ink:#1c1f23;--soft:#666d75;--line:#e3e5e8;--good:#126f35;--goodbg:#dcf3e3;--bad:#b42318;--badbg:#fbdeda;--warn:#8a5a00;--warnbg:#fbeccb;--none:#5f676f;--nonebg:#eceef0;--accent:#2456c8}
@media(prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1b1f24;--ink:#e6e8ea;--soft:#9aa3ac;--line:#2d333a;--good:#6fd08f;--goodbg:#16351f;--bad:#ff9a8f;--badbg:#451b17;--warn:#f0c069;--warnbg:#3c2d0d;--none:#949da6;--nonebg:#262b31;--accent:#8db2ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:14px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:78rem;margin:0 auto;padding:1.5rem 1rem 4rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.05rem;margin:2.2rem 0 .6rem}
header{display:flex;flex-wrap:wrap;gap:1rem;align-items:center;justify-content:space-between}
.sub,.soft{color:var(--soft)}.n{text-align:right;font-variant-numeric:tabular-nums}
.mark{font-size:1.05rem;font-weight:600;padding:.45rem 1rem;border-radius:.6rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:.8rem 1rem;overflow-x:auto}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.28rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
tr:last-child>td{border-bottom:0}th{font-weight:600;color:var(--soft);font-size:.85rem}thead th{position:sticky;top:0;background:var(--card)}
.matrix td,.matrix th{text-align:center;padding:.18rem .35rem}.matrix td:first-child,.matrix th:first-child{text-align:left;white-space:nowrap}
.good{color:var(--good);background:var(--goodbg)}.bad{color:var(--bad);background:var(--badbg)}.warn{color:var(--warn);background:var(--warnbg)}.none{color:var(--none);background:var(--nonebg)}
.pill{display:inline-block;border-radius:.4rem;padding:0 .45rem;font-size:.82rem;white-space:nowrap}
td[data-find]{cursor:pointer}td.cell{border:2px solid var(--card);border-radius:.4rem;font-size:.82rem;min-width:2.6rem;font-variant-numeric:tabular-nums}
code,pre{font:12.5px/1.45 ui-monospace,Menlo,Consolas,monospace}pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.4rem 0 0;background:var(--nonebg);padding:.5rem .7rem;border-radius:.4rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.bar{height:.55rem;border-radius:.3rem;background:var(--nonebg);overflow:hidden;display:flex;min-width:6rem}.bar i{display:block;height:100%}
.bar .g{background:var(--good)}.bar .b{background:var(--bad)}.bar .w{background:var(--warn)}
.fault{border-left:3px solid var(--bad);padding:.1rem 0 .1rem .8rem;margin:.8rem 0}.fault p{margin:.2rem 0;overflow-wrap:anywhere}
.filter{display:flex;gap:.6rem;margin:.2rem 0 .7rem;flex-wrap:wrap;align-items:center}
input,select{font:inherit;color:inherit;background:var(--card);border:1px solid var(--line);border-radius:.4rem;padding:.3rem .6rem}input{flex:1;min-width:14rem}
:focus-visible{outline:2px solid var(--accent);outline-offset:1px}ul{margin:.2rem 0;padding-left:1.2rem}
)css";

// Rows whose text holds every word of the box, and have the chosen verdict.
constexpr const char* kPageScript = R"js(
const box=document.getElementById("words"),pick=document.getElementById("verdict"),shown=document.getElementById("shown");
const rows=[...document.querySelectorAll("#cases tbody tr")].map(r=>[r,r.textContent.toLowerCase(),r.dataset.v]);
function filter(){const words=box.value.toLowerCase().split(/\s+/).filter(Boolean);let n=0;
for(const[r,text,v]of rows){const on=(!pick.value||pick.value===v)&&words.every(w=>text.includes(w));r.hidden=!on;n+=on}
shown.textContent=n+" of "+rows.length}
box.addEventListener("input",filter);pick.addEventListener("change",filter);
for(const a of document.querySelectorAll("[data-find]"))a.addEventListener("click",()=>{box.value=a.dataset.find;pick.value="";filter();document.getElementById("cases").scrollIntoView()});
filter();
)js";

}  // namespace ferrule::conformance
