package decode
import ("testing";"os";"path/filepath";"bytes";"fmt";"sort";"streamer/internal/decode/template")
func TestZZ(t *testing.T){
 files,_:=filepath.Glob("/work/shared/formats/corpus/*/*.jsonl")
 more,_:=filepath.Glob("testdata/*/*.jsonl")
 files=append(files,more...)
 type st struct{ n, fit, main, mainfit int; ex map[string]int; eg map[string]string}
 m:=map[string]*st{}
 for _,f:=range files {
  data,_:=os.ReadFile(f)
  for pass:=0;pass<1;pass++{
  b:=newReaders()
  for line:=range bytes.Lines(data){
   line=bytes.TrimSpace(line)
   if len(line)>64<<10 {continue}
   b.quick.Reset(&b.state, line, "", Limits{})
   for b.quick.Next(){
     ch:=b.quick.Chunks()
     s:=m[b.state.Format]; if s==nil {s=&st{ex:map[string]int{},eg:map[string]string{}}; m[b.state.Format]=s}
     s.n++
     has:=false; sig:=""
     for _,c:=range ch { if c.Kind==5||true { sig+=fmt.Sprintf("%d,",c.Kind) }
       if (c.Args!=""||c.Text!="") && (repeatsZZ(int(c.Kind))) {has=true} }
     if b.quick.filled {s.fit++}
     if has { s.main++; if b.quick.filled {s.mainfit++} else { mm:="T"; if template.Main(ch)<0 {mm="N"}; k:=mm+sig; s.ex[k]++; if s.ex[k]==3 || s.eg[k]=="" { l:=string(line); if len(l)>420 {l=l[:420]}; s.eg[k]=f[len(f)-30:]+" "+l} } }
   }
  }}
 }
 var names []string; for k:=range m {names=append(names,k)}; sort.Strings(names)
 for _,k:=range names { s:=m[k]; fmt.Printf("== %s events %d fit %d; text/args %d fit %d\n",k,s.n,s.fit,s.main,s.mainfit)
  type kv struct{k string;n int}; var l []kv; for a,b:=range s.ex {l=append(l,kv{a,b})}; sort.Slice(l,func(i,j int)bool{return l[i].n>l[j].n}); for i,x:=range l { if i<5 {fmt.Println("   ",x.n,x.k,s.eg[x.k])} } }
}
func repeatsZZ(k int) bool { return k==ZF||k==ZT||k==ZR }
